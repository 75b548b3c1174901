"""Benchmarks on 20 Newsgroups: speed against peers, and accuracy with few labels.

``python -m benchmarks`` runs both; ``quick`` and ``few_labels`` are also scripts.  Others:
``journey`` (from a table to a report), ``shown_words`` (words of topics on unseen documents),
``scaling`` and ``faults``.
"""
