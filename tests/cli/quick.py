"""``python -m tests.cli.quick``: ``tvs`` with the quick report, for tests of processes."""

import sys

import tvselect.runs.pages
from tests.cli.makers import QuickFindings, quick_gather, quick_render
from tvselect.cli import main


def quick(arguments=None):
    """Run a command in a process of its own: the real report is gone from it."""
    tvselect.runs.pages.gather = quick_gather
    tvselect.runs.pages.render = quick_render
    tvselect.runs.pages.Findings = QuickFindings
    return main(arguments)


if __name__ == "__main__":
    sys.exit(quick())
