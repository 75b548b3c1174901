"""From documents to weighted word counts."""
