"""The command line, in the order of the workflow."""

from drlh.cli.app import main

__all__ = ["main"]
