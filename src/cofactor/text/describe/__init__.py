"""Descriptions of a fitted topic model, as functions of it and as small tables.

`words` chooses the words that describe a topic; `summaries` holds tables of topics, documents and
classes; `predictions` the task of a model and how scores become predictions; `explain` the part of
each word in a prediction; `contrast` why it is this class and not the next one; `compare` two
models side by side; `table` the class of all these tables.
"""
