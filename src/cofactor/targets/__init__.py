"""y ↔ target matrix and weights.

- ``missing``: the one rule for "unlabelled"
- ``task``: the one rule for "numbers or classes"
- ``reading``: arrays, frames and sparse matrices become something with a shape; which samples are
  labelled
- ``classes``: labels, sets of labels, soft labels; how much a label counts because of its class
- ``values``: numbers
- ``matrix``: the target matrix Y with its weights L

Import names from these modules. The package imports nothing, so that `missing` and `task` load no
numerical library.
"""
