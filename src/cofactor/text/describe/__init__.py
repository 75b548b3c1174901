"""Descriptions of a fitted topic model, as functions of the model and as small tables.

`topic_words` chooses the words that describe a topic; `summaries` holds the tables of topics,
documents and classes; `predictions` knows the task of a model and turns scores into predictions;
`answers` fills the columns that predictions add to a table; `explain` explains a prediction;
`compare` compares two models; `table` is the class of all these tables.
"""
