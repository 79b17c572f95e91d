"""The study: set-ups x methods x replicates to tidy rows, and tables and figures from the rows.

``python -m tvselect.study --help`` is its face.
"""

from tvselect.study.check import check_rows
from tvselect.study.grid import OFFLINE, ONLINE, Task, tasks
from tvselect.study.methods import METHODS
from tvselect.study.rows import read_rows
from tvselect.study.runner import run_study

__all__ = ["METHODS", "OFFLINE", "ONLINE", "Task", "check_rows", "read_rows", "run_study", "tasks"]
