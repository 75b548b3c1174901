"""Benchmarks: speed, memory and predictions, against what users already have.

``python -m benchmarks`` runs ``quick`` and ``few_labels``; ``python -m benchmarks.NAME`` runs one.

- speed: ``quick`` (against scikit-learn), ``compare_trees`` (against another version), ``journey``
  (from a table to a report), ``scaling``, ``cost_model``, ``deployment``, ``app_load``
- predictions: ``predictions`` (against tuned ``rivals``), ``few_labels``, ``short_texts``,
  ``missing_cells``, ``single_cell``, ``unlike``, ``updating``
- topics and labelling: ``choosing``, ``shown_words``, ``labelling``, ``analyst``
- clusters: ``faults``

``harness``, ``data_sets``, ``nmf_fits`` and ``prediction_tables`` are shared parts.
"""
