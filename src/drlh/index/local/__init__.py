"""The index in one process: in memory or in a directory."""
