"""The loop over plays and chains: where arms, rewards and the journal meet."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from tvselect.bandit.chain import Payoffs, ThompsonChain
from tvselect.bandit.journal import Journal
from tvselect.bandit.play import Play
from tvselect.rewards.base import Feedback
from tvselect.selectors.features import Deal

INTERRUPTED = "interrupted"


def payoffs_of_arms(feedback: Feedback, deal: Deal) -> Payoffs:
    """Payoffs of arms from the feedback of columns: an arm is paid like its best column."""

    def payoffs(arms: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        if deal.is_plain:
            return feedback(deal.columns[arms], rng)
        sizes = deal.starts[arms + 1] - deal.starts[arms]
        ends = np.cumsum(sizes)
        within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
        columns = deal.columns[np.repeat(deal.starts[arms], sizes) + within]
        values = feedback(np.concatenate([columns, deal.always]), rng)
        return np.maximum.reduceat(values[: columns.size], ends - sizes)

    return payoffs


def play_all(
    chains: Sequence[ThompsonChain],
    payoffs: Payoffs,
    journals: Sequence[Journal],
    *,
    time_limit: float | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> str:
    """Play all chains to their end, a round of plays at a time; returns why it stopped.

    Chains are independent, so that the number of threads changes nothing. Every play is in
    the journals before the next round starts; an interrupt (Ctrl-C) keeps all of them.
    """
    started = time.perf_counter()
    total = sum((chain.stopping.n_plays or 0) - chain.n_plays for chain in chains)
    reasons: dict[int, str] = {}
    with (
        ThreadPoolExecutor(max(1, min(n_jobs, len(chains)))) as pool,
        tqdm(total=total, desc="TVS", unit=" plays", disable=verbose < 1) as bar,
    ):
        try:
            while True:
                for chain in chains:
                    reason = chain.stop_reason()
                    if reason is not None:
                        reasons[chain.chain] = reason
                going = [chain for chain in chains if chain.chain not in reasons]
                if not going:
                    break
                if time_limit is not None and time.perf_counter() - started >= time_limit:
                    return f"the time limit of {time_limit:g} s is reached"
                plays = play_each(going, payoffs, pool)
                for journal in journals:
                    journal.append_all(plays)
                show(bar, going, plays)
        except KeyboardInterrupt:
            warnings.warn(
                "interrupted; the result covers the plays so far", RuntimeWarning, stacklevel=3
            )
            return INTERRUPTED
    return "; ".join(sorted(set(reasons.values())))


def play_each(
    chains: Sequence[ThompsonChain], payoffs: Payoffs, pool: ThreadPoolExecutor
) -> list[tuple[int, Play]]:
    """One play of every chain, at the same time where the pool has the threads."""
    if len(chains) == 1:
        return [(chains[0].chain, chains[0].play(payoffs))]
    futures = [pool.submit(chain.play, payoffs) for chain in chains]
    try:
        wait(futures)
    finally:
        # Whatever happens, no chain goes on playing behind the caller's back.
        for future in futures:
            future.cancel()
        wait(futures)
    return [(chain.chain, future.result()) for chain, future in zip(chains, futures, strict=True)]


def show(bar: tqdm, chains: Sequence[ThompsonChain], plays: Sequence[tuple[int, Play]]) -> None:
    """Bring the progress bar up to date."""
    bar.update(len(plays))
    if not bar.disable:
        model = chains[0].oracle.model(chains[0].arms)
        bar.set_postfix(played=plays[0][1].arms.size, selected=model.size, refresh=False)
