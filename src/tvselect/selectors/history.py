"""The history of a fit: every play, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.journal import MemoryJournal, trajectories
from tvselect.bandit.play import Play
from tvselect.selectors.features import decoy_name


@dataclass(frozen=True)
class History:
    """All plays of a fit.

    Attributes
    ----------
    journal : MemoryJournal
    n_chains : int
    names : sequence of str
        Of the features.
    arm_of_feature : int64 array
        The arm of each feature, -1 for those that are always included.
    prior : tuple
        Beta prior of the arms.
    discount : float
        What is left of an arm's earlier payoffs when it is played again.
    decoy_of : int64 array
        Features that have a decoy; the decoys are the last arms, in this order.
    labels : dict
        What the user calls the arms of several features.
    """

    journal: MemoryJournal
    n_chains: int
    names: Sequence[str]
    arm_of_feature: NDArray[np.int64]
    prior: tuple[float | NDArray[np.float64], float | NDArray[np.float64]]
    discount: float = 1.0
    decoy_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    labels: Mapping[int, str] = field(default_factory=dict)

    @property
    def plays(self) -> list[Play]:
        """Plays of the first chain, in order."""
        return list(self.journal.plays(0))

    @property
    def decoy_names(self) -> tuple[str, ...]:
        """Names of the decoys."""
        return tuple(decoy_name(self.names[j]) for j in self.decoy_of)

    @property
    def n_skipped(self) -> int:
        """Batches of a stream that were skipped: a single class, or too few rows."""
        return sum(play.arms.size == 0 for play in self.journal.plays(0))

    def trajectories(
        self, features: Sequence[str] | Sequence[int], chain: int = 0
    ) -> NDArray[np.float64]:
        """Inclusion probabilities of some features over the plays of a chain.

        Parameters
        ----------
        features : names or indices
        chain : int, default=0

        Returns
        -------
        float64 array (plays + 1, features)
            The first row is the prior mean.
        """
        places = [self._place(item) for item in features]
        arms = self.arm_of_feature[places]
        if (arms < 0).any():
            name = self.names[places[int(np.flatnonzero(arms < 0)[0])]]
            raise ValueError(f"{name!r} is always included: it is no arm and has no trajectory")
        return self._trajectories(arms, chain)

    def decoy_trajectories(self, chain: int = 0) -> NDArray[np.float64]:
        """Inclusion probabilities of the decoys over the plays (plays + 1, decoys)."""
        n_arms = int(self.arm_of_feature.max(initial=-1)) + 1
        return self._trajectories(n_arms + np.arange(self.decoy_of.size), chain)

    def _trajectories(self, arms: NDArray[np.int64], chain: int) -> NDArray[np.float64]:
        a, b = (value if np.ndim(value) == 0 else np.asarray(value)[arms] for value in self.prior)
        plays = self.journal.plays(chain)
        return trajectories(plays, arms.astype(np.int32), a, b, discount=self.discount)

    def to_frame(self) -> Any:
        """One row per play: chain, play, arms played, arms paid, seconds (needs pandas)."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_frame needs pandas: pip install pandas") from None
        rows = [
            (chain, play.number, play.arms.size, int(play.rewards.sum()), play.seconds)
            for chain in range(self.n_chains)
            for play in self.journal.plays(chain)
        ]
        return pd.DataFrame(rows, columns=["chain", "play", "n_played", "n_paid", "seconds"])

    def _place(self, item: Any) -> int:
        if isinstance(item, str):
            if item not in self.names:
                raise ValueError(f"no feature is named {item!r}")
            return self.names.index(item)
        return int(item)
