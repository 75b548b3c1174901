"""From documents to a matrix of weighted words.

`words` holds `WordVectorizer`; `analyzer` splits a text into words; `frequencies` counts words and
chooses which to keep; `stopwords` lists words to leave out.
"""
