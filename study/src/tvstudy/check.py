"""Do the rows of a study still hold? Some of them are run again and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from tvstudy.grid import Task
from tvstudy.rows import FINISHED, Row
from tvstudy.runner import run_study

TASK = tuple(field.name for field in fields(Task))


class Checked(NamedTuple):
    """A row and what its task selects today.

    Attributes
    ----------
    key, method : str
    same : bool
        The same columns were selected.
    """

    key: str
    method: str
    same: bool


def check_rows(
    rows: Sequence[Row],
    per_method: int = 2,
    *,
    longest: float = 60.0,
    n_jobs: int = 1,
    random_state: int = 0,
    verbose: int = 1,
) -> list[Checked]:
    """Run some rows of every method again, with the code that is installed.

    Rows are kept for weeks and put together from several machines; a change of the code since
    then shows here.

    Parameters
    ----------
    rows : list of rows
        As :func:`tvstudy.read_rows` gives them.
    per_method : int, default=2
        Rows of a method, taken at random.
    longest : float, default=60
        Only rows that took at most so many seconds.
    n_jobs : int, default=1
        Tasks at a time.
    random_state : int, default=0
        Seed of the choice.
    verbose : int, default=1
        1 shows a progress bar.

    Returns
    -------
    list of Checked
        By method, in the order of the rows.
    """
    if per_method < 1:
        raise ValueError(f"per_method={per_method}: at least one row of a method is checked")
    chosen = {row["key"]: row for row in _choose(rows, per_method, longest, random_state)}
    todo = [Task(**{name: row[name] for name in TASK}) for row in chosen.values()]
    with tempfile.TemporaryDirectory() as folder:
        again = run_study(todo, folder, n_jobs=n_jobs, verbose=verbose) if todo else []
    now = {row["key"]: row.get("selected") for row in again}
    return [Checked(key, row["method"], now[key] == row["selected"]) for key, row in chosen.items()]


def _choose(rows: Sequence[Row], per_method: int, longest: float, random_state: int) -> list[Row]:
    rng = np.random.default_rng(random_state)
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == FINISHED and row["seconds"] <= longest and "selected" in row:
            by_method.setdefault(row["method"], []).append(row)
    return [
        of_method[k]
        for of_method in by_method.values()
        for k in rng.choice(len(of_method), min(per_method, len(of_method)), replace=False)
    ]
