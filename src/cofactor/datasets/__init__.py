"""Texts to try things on, without a download: real docstrings and a made-up table of letters."""

from cofactor.datasets.docstrings import Docstrings, docstring_corpus
from cofactor.datasets.tickets import make_tickets

__all__ = ["Docstrings", "docstring_corpus", "make_tickets"]
