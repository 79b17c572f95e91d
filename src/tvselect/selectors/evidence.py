"""What the first round of a stream proves: e-values of the arms against their decoys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.journal import Journal
from tvselect.bandit.play import Play
from tvselect.control.evalues import average, fewest_wins, log_e_values, q_values

LARGEST_LOG = 700.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """The e-values of a stream at one moment."""

    max_fdr: float
    log_e: NDArray[np.float64]  #: By chain and arm
    since: NDArray[np.int64]  #: By arm the batches after which it was selected for good, or -1
    n_batches: int  #: That count: the first time that their rows were played

    @cached_property
    def log_e_values(self) -> NDArray[np.float64]:
        """By arm, averaged over chains."""
        return average(self.log_e)

    @cached_property
    def q_values(self) -> NDArray[np.float64]:
        """By arm the smallest level at which e-BH selects it."""
        return q_values(self.log_e_values)

    @property
    def e_values(self) -> NDArray[np.float64]:
        """By arm, averaged over chains."""
        return np.exp(np.minimum(self.log_e_values, LARGEST_LOG))

    def selected(self, chain: int | None = None) -> NDArray[np.bool_]:
        """Arms that e-BH selects, by all chains or by one of them."""
        q = self.q_values if chain is None else q_values(self.log_e[chain])
        return q <= self.max_fdr

    def expected_false(self, chosen: NDArray[np.bool_]) -> float:
        """The largest expected number of false ones among some arms."""
        return float(chosen.sum() * self.q_values[chosen].max(initial=0.0))


class Ledger:
    """Counts wins and losses of arms against their decoys, play after play.

    Parameters
    ----------
    n_candidates : int
        Arms; the decoy of arm ``i`` is arm ``n_candidates + i``.
    n_chains : int
    max_fdr : float
    """

    def __init__(self, n_candidates: int, n_chains: int, max_fdr: float) -> None:
        self.max_fdr = max_fdr
        self.wins, self.losses = np.zeros((2, n_chains, n_candidates), dtype=np.int32)
        self.log_e = np.zeros((n_chains, n_candidates))
        self.since = np.full(n_candidates, -1, dtype=np.int64)
        self.n_plays = 0
        self.n_batches = 0

    def follow(self, journal: Journal, n_fresh: int | None) -> None:
        """Count what is new; plays from number ``n_fresh`` on see rows that were seen before."""
        plays = (journal.plays(chain, self.n_plays) for chain in range(len(self.log_e)))
        for made in zip(*plays, strict=True):
            self.n_plays += 1
            if (n_fresh is None or made[0].number < n_fresh) and made[0].arms.size:
                self.n_batches += 1
                for chain, play in enumerate(made):
                    self._count(chain, play)
                chosen = q_values(average(self.log_e)) <= self.max_fdr
                self.since[~chosen] = -1
                self.since[chosen & (self.since < 0)] = self.n_plays

    def evidence(self) -> Evidence:
        """All that was counted so far."""
        return Evidence(self.max_fdr, self.log_e.copy(), self.since.copy(), self.n_batches)

    def _count(self, chain: int, play: Play) -> None:
        n_pairs = play.arms.size // 2
        arms, won, decoy_won = play.arms[:n_pairs], *np.split(play.rewards, 2)
        moved = arms[won != decoy_won]
        self.wins[chain, arms] += won & ~decoy_won
        self.losses[chain, arms] += decoy_won & ~won
        self.log_e[chain, moved] = log_e_values(self.wins[chain, moved], self.losses[chain, moved])


def too_few(n_batches: int, n_arms: int, max_fdr: float, n_likely: int) -> str | None:
    """Why nothing can be selected, where so few batches prove nothing.

    Parameters
    ----------
    n_likely : int
        Arms that might be proven together; the more, the less each of them needs.
    """
    needed = fewest_wins(n_arms, max_fdr, max(1, n_likely))
    if n_batches >= needed:
        return None
    return (
        f"nothing can be selected: to prove {n_likely} of {n_arms} variables at a false discovery "
        f"rate of {max_fdr:g} takes at least {needed} batches of new rows, and there are "
        f"{n_batches}. Take smaller batches, or switch error control off; a table that fits into "
        "memory is better played as a whole, where every play sees all rows"
    )
