"""Text in, topics and predictions out."""
