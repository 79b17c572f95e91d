"""Feedback on columns of a file that every worker opens by itself: no column is sent there."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.columns import ChosenColumns, ColumnFile, FileColumns
from tvselect.inputs.errors import SourceError
from tvselect.rewards import Data, Reward
from tvselect.rewards.base import Feedback, start_reward
from tvselect.workers import Runner


class FileFeedback:
    """The feedback of a reward on data in a file, started anew in the process that first asks.

    Parameters
    ----------
    reward : Reward
    data : Data
        Its columns in a file, see :func:`file_of`.

    Raises
    ------
    SourceError
        When first asked, where the file is missing or is not the one that it was made with.
    """

    def __init__(self, reward: Reward, data: Data) -> None:
        self._reward, self._data = reward, data
        self._file = file_of(data)
        assert self._file is not None
        self._wanted = self._file.sample_hash()
        self._started: Feedback | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_started": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def __call__(self, columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """One payoff for each of the columns."""
        with self._lock:
            if self._started is None:
                self._started = self._start()
        return self._started(columns, rng)

    def _start(self) -> Feedback:
        assert self._file is not None
        path = self._file.path
        try:
            found = self._file.sample_hash()
        except OSError as error:
            raise SourceError(
                f"{path} cannot be opened by a worker: {error.strerror}",
                "put the file where all workers find it under this path",
            ) from None
        if found != self._wanted:
            raise SourceError(
                f"{path} is another file for a worker", "give all workers the same file"
            )
        return start_reward(self._reward, self._data)


def start_for(runner: Runner, reward: Reward, data: Data) -> Feedback:
    """The feedback of a reward: started here, or by workers that have the file themselves."""
    if runner.is_remote and file_of(data) is not None:
        return FileFeedback(reward, data)
    return start_reward(reward, data)


def file_of(data: Data) -> ColumnFile | None:
    """The file that columns are read from; None where they, or decoys of them, are in memory."""
    X = data.X.X if isinstance(data.X, ChosenColumns) else data.X
    if isinstance(X, FileColumns) and isinstance(data.decoys, ShuffledColumns | None):
        return X.file
    return None
