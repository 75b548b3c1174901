"""From documents to a matrix of weighted words.

    text ── cleaning ──── analyzer ──────── languages ──────── word_vectorizer
            drop markup   split into words  drop grammatical   count, choose, weigh
                                            words

`word_vectorizer` holds `WordVectorizer`. `inspection` reports what texts look like, for
``cofactor check``. All modules except `word_vectorizer` import only the standard library (and
stopwordsiso when a list is needed), so that commands can use them without loading scikit-learn.
"""
