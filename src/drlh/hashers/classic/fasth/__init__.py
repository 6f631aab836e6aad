"""FastH: pairs → code inference → boosted trees → hasher."""
