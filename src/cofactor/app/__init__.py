"""The app: a local page where a user labels documents, and topics and predictions follow.

    browser ── security ── routes ──► session ──► decisions (a file), reviewed (labels, classes)
                (every request)         │   └──► refits (one thread) ──► TopicModel.refit, save
                                        └──► topic_edits, documents, progress, exports

===============  ==============================================================================
`decisions`      the log: a line of JSON for each decision, on the disk before it is acknowledged
`reviewed`       what the lines amount to: labels of documents, classes, flags; last one wins
`corpus`         the documents of a table, with the labels that the table has
`session`        corpus, log and current model of one start of the app; what the routes call
`refits`         the thread that fits in the background; a fit that fails changes nothing
`topic_edits`    each edit of topics is one method of `TopicModel`; what it would move; undo
`documents`      one document with its words coloured, and the table of all documents
`progress`       accuracy on randomly chosen documents, labels of each class
`exports`        the table with its labels filled in, JSON lines, Python code
`security`       who may ask what: Host, token, Origin, content type, size; headers of answers
`routes`         one function for each address; JSON in, JSON out
`server`         the socket, the address with its token, the end
`page/`          HTML, CSS and ES modules, served as they are
===============  ==============================================================================

Only `security`, `routes` and `server` know starlette and uvicorn (extra ``cofactor[app]``). The
other modules know no web, and are tested without one. No module here computes topics or
predictions: whatever a button does is one call of the public API of `TopicModel`.
"""
