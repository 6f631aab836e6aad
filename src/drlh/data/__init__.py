"""Data sets: named ones, image folders, tables and feature files."""
