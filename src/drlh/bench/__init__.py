"""Methods under protocols: the runner, its records, and scores of files."""
