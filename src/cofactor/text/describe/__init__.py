"""What a fitted topic model says: topics, documents, classes, explanations, comparisons."""
