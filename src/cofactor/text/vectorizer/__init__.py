"""From documents to a matrix of weighted words.

    text ── cleaning ── scripts ── languages ── frequencies ── words
            markup out  split up   grammar out  count, choose  weigh

`words` holds `WordVectorizer`. `analyzer` puts the first steps together: from a text to its words.
`cleaning` leaves out markup; `scripts` splits a text into words or, where a script has no spaces,
into pairs of letters; `languages` notices the languages of texts and knows their grammatical words
(`stopwords` holds our own). `endings` lets words that differ in their endings count as
one. `frequencies` counts words and chooses which to keep. `inspection` tells what texts look like,
for `cofactor check`.

`cleaning`, `scripts`, `languages`, `endings` and `inspection` import the standard library only, and
`languages` the package stopwordsiso when it needs a list: commands use them without loading
scikit-learn.
"""
