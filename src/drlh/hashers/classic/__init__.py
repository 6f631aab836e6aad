"""Methods without a deep network."""
