"""The app: a local page where a user labels documents, and topics and predictions follow.

    browser ── security ── routes ──► session ──► decisions (log and labels), text_queue
               (every request)          │   └──► Refitter (one thread) ──► TopicModel.refit, save
                                        └──► topic_edits, page_data, progress, exports

==============  ===============================================================================
`decisions`     the log, one line of JSON per decision, on the disk before it is acknowledged; and
                what the lines amount to: labels of documents, classes, flags
`text_queue`    the texts of a table with their labels, and the queue in which they are labelled
`session`       table, log and current model of one run; the thread that refits in the background
`topic_edits`   each edit of topics is one method of `TopicModel`; trials
`page_data`     what the page shows: one document with its words coloured, tables, topics
`progress`      accuracy on randomly chosen documents, calibration, when to stop
`exports`       the table with its labels filled in, JSON lines, the report, Python code
`security`      checks of every request: Host, token, Origin, content type, size; headers
`routes`        one function per address; the web application and its server
`page/`         HTML, CSS and ES modules, served as they are
==============  ===============================================================================

Only `security` and `routes` import starlette and uvicorn (extra ``cofactor[app]``). The other
modules know nothing of the web and are tested without it. No module here computes topics or
predictions: every button is one call of the public API of `TopicModel`.
"""
