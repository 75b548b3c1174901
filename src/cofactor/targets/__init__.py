"""y ↔ target matrix and weights."""
