"""``tvs resume``: go on with a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvselect.cli.results import show
from tvselect.cli.terminal import Terminal


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    """Go on to the planned number of plays, or to more."""
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.play import resume

    folder = RunFolder(Path(options.run))
    before = folder.read_run()
    terminal.say(f"  Going on with {folder.path} ({before.plan.table}).")
    result = resume(
        folder,
        plays=options.plays,
        rounds=options.rounds,
        time_limit=options.time_limit,
        table=options.table,
        jobs=options.jobs,
        cluster=options.cluster,
        verbose=int(terminal.is_live),
    )
    if before.state == "done" and result.run.n_plays == before.n_plays:
        more = "--rounds" if before.plan.stream else "--plays"
        terminal.say(f"  The run was complete; {more} N plays more.")
    return show(result, terminal)
