"""``python -m tests.cli.quick``: ``tvs`` with the quick report, for tests of processes."""

import sys

import tvselect.report
from tests.cli.makers import QuickFindings, quick_gather, quick_render
from tvselect.cli import main

tvselect.report.gather = quick_gather
tvselect.report.render = quick_render
tvselect.report.Findings = QuickFindings
if __name__ == "__main__":
    sys.exit(main())
