"""When to stop: enough plays, a model that stays as it is, or time is up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class StopReason(StrEnum):
    """Why a run ended."""

    PLAYS = "plays"
    """All plays that were asked for are done."""
    PATIENCE = "patience"
    """The selected set of no chain has changed for ``patience`` plays."""
    TIME_LIMIT = "time limit"
    ROUNDS = "rounds"
    """A stream has ended after the rounds that were asked for."""
    BATCHES = "batches"
    """Every batch that was handed to ``partial_fit`` is played."""
    ALL_SKIPPED = "all skipped"
    """No batch of a stream could be played: too few rows, or a constant outcome."""
    INTERRUPTED = "interrupted"
    ERROR = "error"
    """A stream could not be read to its end; the result covers the plays before."""


class InterruptWarning(RuntimeWarning):
    """A run was interrupted (Ctrl-C); its result covers the plays before."""


@dataclass(frozen=True)
class Stopping:
    """The rules; None switches one off.

    Attributes
    ----------
    n_plays : int or None
        Plays in all.
    patience : int or None
        Stop when the model has not changed for that many consecutive plays.
    """

    n_plays: int | None = None
    patience: int | None = None

    def reason(self, n_done: int, n_unchanged: int) -> StopReason | None:
        """Why to stop now, or None."""
        if self.patience is not None and n_unchanged >= self.patience:
            return StopReason.PATIENCE
        if self.n_plays is not None and n_done >= self.n_plays:
            return StopReason.PLAYS
        return None


class Steadiness:
    """Counts for how many plays in a row the model has not changed."""

    def __init__(self) -> None:
        self.n_unchanged = 0
        self._model: NDArray[np.int32] | None = None

    def see(self, model: NDArray[np.int32]) -> None:
        """Take note of the model after a play."""
        same = self._model is not None and np.array_equal(model, self._model)
        self.n_unchanged = self.n_unchanged + 1 if same else 0
        self._model = model
