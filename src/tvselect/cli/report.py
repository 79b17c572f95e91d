"""``tvs report``: write the report of a run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvselect.cli.terminal import Terminal


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    """Render report.html from findings.json, and show it where that is asked for."""
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.pages import render_again

    folder = RunFolder(Path(options.run))
    folder.read_run()
    render_again(folder)
    if terminal.is_json:
        terminal.print_json({"report": str(folder.report)})
    else:
        terminal.print(str(folder.report))
    if options.open:
        import webbrowser

        if not webbrowser.open(folder.report.absolute().as_uri()):
            terminal.warn(f"no browser was found; open {folder.report} by hand")
    return 0
