"""Comparing packed codes by Hamming distance: exactly, by a kernel in C or by faiss."""
