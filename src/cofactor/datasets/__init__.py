"""Data to try things on, without a download: real docstrings, made-up letters and cells."""

from cofactor.datasets.cells import make_cells
from cofactor.datasets.docstrings import Docstrings, docstring_corpus
from cofactor.datasets.tickets import make_tickets

__all__ = ["Docstrings", "docstring_corpus", "make_cells", "make_tickets"]
