"""Turns a model and documents into the plain tables of a report.

`prepare` makes all tables from the `material` (model, documents, labels) and the `evaluation`,
which uses `refits`, `baselines` and `scores`. `topics`, `documents` (with `layout`), `facts` and
`notices` each make some of the tables.
"""
