"""The study: set-ups x methods x replicates to tidy rows, and tables and figures from the rows.

``python -m tvstudy --help`` is its face.
"""

from tvstudy.check import check_rows
from tvstudy.grid import OFFLINE, ONLINE, Task, tasks
from tvstudy.methods import METHODS
from tvstudy.rows import read_rows
from tvstudy.runner import run_study

__all__ = ["METHODS", "OFFLINE", "ONLINE", "Task", "check_rows", "read_rows", "run_study", "tasks"]
