"""The command line."""

from agnn.cli.app import main

__all__ = ["main"]
