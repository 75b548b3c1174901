"""Model folders: safe to load, written in one step, readable by people."""

from cofactor.io.models.codec import ModelFormatError
from cofactor.io.models.save_load import load_model, read_facts, save

__all__ = ["ModelFormatError", "load_model", "read_facts", "save"]
