"""Labels for a topic model: which documents to label next, and which labels look wrong.

`choice` chooses rows of matrices; `suggestions` does so for documents, with the reason of each;
`doubts` compares labels with predictions of models that do not know them.
"""
