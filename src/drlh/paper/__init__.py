"""The tables and figures of the DRLH paper as experiments that run on the data that is available."""
