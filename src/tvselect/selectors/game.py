"""The loop over plays and chains: where arms, rewards and the journal meet."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from tvselect.bandit.chain import Payoffs, ThompsonChain, Turn, skipped
from tvselect.bandit.journal import Journal
from tvselect.bandit.play import Play
from tvselect.bandit.stopping import InterruptWarning, StopReason
from tvselect.rewards.base import Feedback
from tvselect.runners import Run, Runner
from tvselect.selectors.features import Deal
from tvselect.selectors.journals import WIDEST

if TYPE_CHECKING:
    from tqdm.auto import tqdm

PLAYS_PER_WORKER = 16


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


def pay(payoffs: Payoffs, turn: Turn) -> tuple[NDArray[np.bool_], float]:
    """What a turn pays, and how long that took: all that a worker sends back."""
    started = time.perf_counter()
    return turn.pay(payoffs), time.perf_counter() - started


def play_all(
    chains: Sequence[ThompsonChain],
    payoffs: Payoffs,
    journals: Sequence[Journal],
    runner: Runner,
    *,
    time_limit: float | None = None,
    verbose: int = 0,
) -> StopReason:
    """Play all chains to their end, a window of plays at a time; returns why it stopped.

    Chains are independent and the plays of a window are chosen together, so that the number
    and the speed of the workers change nothing. Every play is in the journals before the next
    window starts; an interrupt (Ctrl-C) keeps all of them.
    """
    from tqdm.auto import tqdm

    started = time.perf_counter()
    total = sum((chain.stopping.n_plays or 0) - chain.n_plays for chain in chains)
    reasons: dict[int, StopReason] = {}
    with (
        runner.hand_out(partial(pay, payoffs)) as run,
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
                    return StopReason.TIME_LIMIT
                plays = play_windows(going, run)
                for journal in journals:
                    journal.append_all(plays)
                show(bar, going, plays)
        except KeyboardInterrupt:
            warnings.warn(
                "interrupted; the result covers the plays so far", InterruptWarning, stacklevel=4
            )
            return StopReason.INTERRUPTED
    is_steady = set(reasons.values()) == {StopReason.PATIENCE}
    return StopReason.PATIENCE if is_steady else StopReason.PLAYS


def play_windows(chains: Sequence[ThompsonChain], run: Run) -> list[tuple[int, Play]]:
    """Choose, reward, update: the next window of every chain."""
    turns = [turn for chain in chains for turn in chain.turns()]
    return learn_all(chains, turns, run(turns))


def learn_all(
    chains: Sequence[ThompsonChain],
    turns: Sequence[Turn],
    payments: Sequence[tuple[NDArray[np.bool_], float] | None],
) -> list[tuple[int, Play]]:
    """Let every chain learn from its turns; one without payment is skipped."""
    chain_of = {chain.chain: chain for chain in chains}
    plays = []
    for turn, payment in zip(turns, payments, strict=True):
        play = skipped(turn.number) if payment is None else turn.paid(*payment)
        chain_of[turn.chain].learn(play)
        plays.append((turn.chain, play))
    return plays


def widest_window(window: int | Literal["auto"], runner: Runner, n_chains: int) -> int:
    """Most plays that are chosen together.

    "auto" is 1, as in the paper, where there are no more workers than chains, and 16 per
    worker else: they are busy for long enough to be worth the way there and back.
    """
    if isinstance(window, str):
        if window != "auto":
            raise ValueError(f"window must be 'auto' or a number of plays, got {window!r}")
        n_workers = runner.n_workers
        return 1 if n_workers <= n_chains else -(-PLAYS_PER_WORKER * n_workers // n_chains)
    check_scalar(window, "window", Integral, min_val=1, max_val=WIDEST)
    return int(window)


def show(bar: tqdm, chains: Sequence[ThompsonChain], plays: Sequence[tuple[int, Play]]) -> None:
    """Bring the progress bar up to date."""
    bar.update(len(plays))
    if not bar.disable:
        model = chains[0].oracle.model(chains[0].arms)
        bar.set_postfix(played=plays[0][1].arms.size, selected=model.size, refresh=False)
