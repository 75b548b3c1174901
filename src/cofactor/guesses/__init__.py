"""Models that guess the classes of unlabelled samples."""
