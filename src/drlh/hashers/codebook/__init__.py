"""Codewords for classes: BCH codes, the search for far-apart ones, and how they adapt to confusions."""
