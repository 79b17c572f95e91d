"""The command ``tvs``: parse, call, print. Nothing heavy is imported before a command runs."""

from tvselect.cli.call import main

__all__ = ["main"]
