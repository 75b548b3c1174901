"""The app: a local page where a user labels documents, and topics and predictions follow.

    browser ── security ── routes ──► session ──► decisions (log and labels), text_queue
               (every request)          │   └──► Refitter (one thread) ──► TopicModel.refit, save
                                        └──► topic_edits, page_data, estimate, progress, exports

==============  ===============================================================================
`decisions`     the log, one line of JSON per decision, on the disk before it is acknowledged; and
                what the lines amount to: labels of documents, opinions of people, flags
`classes`       classes with identities that stay and names that may change
`text_queue`    the texts of a table with their labels, and who gets which text
`session`       table, log and current model of one run; the thread that refits in the background
`topic_edits`   each edit of topics is one method of `TopicModel`; trials
`page_data`     what the page shows: one document with its words coloured, tables, topics
`estimate`      the accuracy of the current model from random checks; when to stop
`progress`      what the Progress screen shows: scores by class, calibration, agreement of people
`exports`       the table with its labels filled in, files for other programs, report, Python code
`imports`       decisions from files of other programs
`guidelines`    rules for labelling, from Markdown
`security`      checks of every request: Host, token, Origin, content type, size; headers
`routes`        one function per address; the web application and its server
`page/`         HTML, CSS and ES modules, served as they are
==============  ===============================================================================

Only `security` and `routes` import starlette and uvicorn (extra ``cofactor[app]``). The other
modules know nothing of the web and are tested without it. No module here computes topics or
predictions: every button is one call of the public API of `TopicModel`.
"""
