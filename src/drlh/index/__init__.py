"""Codes → a searchable index."""
