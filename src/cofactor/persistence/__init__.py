"""Model folders: safe to load, written in one step, readable by people."""

from cofactor.persistence.errors import ModelFormatError
from cofactor.persistence.models import load_model, read_facts, save

__all__ = ["ModelFormatError", "load_model", "read_facts", "save"]
