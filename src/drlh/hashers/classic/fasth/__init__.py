"""FastH: code inference → boosted trees → hasher."""
