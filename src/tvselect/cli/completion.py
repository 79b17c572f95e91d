"""``tvs completion``: a script that completes the command in a shell."""

from __future__ import annotations

import argparse

from tvselect.cli.parser import make_parser
from tvselect.cli.terminal import Terminal

FILES, FOLDERS = ("TABLE", "FILE", "OUT"), ("RUN", "FOLDER")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    """Print the script."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise ModuleNotFoundError("completion needs shtab: pip install 'tvselect[cli]'") from None
    parser = make_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
    terminal.print(shtab.complete(parser, options.shell))
    return 0
