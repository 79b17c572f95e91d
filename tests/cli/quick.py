"""``python -m tests.cli.quick``: ``tvs`` with the quick report, for tests of processes."""

import sys

import tvselect.report
import tvselect.selectors.interactions
from tests.cli.makers import FEW_WITHOUT, QuickFindings, quick_gather, quick_render
from tvselect.cli import main


def quick(arguments=None):
    """Run a command in a process of its own: the real report is gone from it."""
    tvselect.selectors.interactions.N_WITHOUT = FEW_WITHOUT
    tvselect.report.gather = quick_gather
    tvselect.report.render = quick_render
    tvselect.report.Findings = QuickFindings
    return main(arguments)


if __name__ == "__main__":
    sys.exit(quick())
