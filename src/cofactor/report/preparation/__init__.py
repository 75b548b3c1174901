"""From a model and documents to the plain tables that a report shows."""
