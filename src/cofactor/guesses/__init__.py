"""Models that guess labels for unlabelled samples."""
