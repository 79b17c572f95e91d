"""Whole runs next to each other: settings that were published for R, and selections as they come.

``make bench`` records both tables with the speed of the sampler. R's seconds are those of the
paper, on its own machine; all others are measured here, in one process on one core, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.judging import judge
from tvselect import BartReward, ThompsonSelector, run_bart
from tvstudy.methods import ALL_METHODS
from tvstudy.simulation import simulate

BURN = 100
"""Iterations before the M that count, as in ``BartReward.paper`` and R's wbart."""
SELECTIONS = ("TVS-FDR", "TVS", "IPSS", "IPSS, LASSO", "Boruta", "DART, 10 chains of 20 trees")


class Published(NamedTuple):
    """A run that the paper timed in R: what it says of the seconds, and the engines here."""

    settings: str
    in_r: str
    engines: dict[str, Callable[[], Any]]


def _stochtree_reward(n_iterations: int) -> Callable[..., NDArray[Any]]:
    """The paper's rule with stochtree: a reward when its last forest splits on the column."""

    def reward(X: NDArray[Any], y: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        _, counts = peers.stochtree_bare(
            X, y, n_trees=10, n_iterations=n_iterations, seed=int(rng.integers(2**31))
        )
        return counts > 0

    return reward


def _published() -> list[Published]:
    lead = simulate("friedman", 300, 10_000, random_state=100)
    batch = simulate("liang", 1_000, 1_000, random_state=100)

    def search(reward: Any) -> Callable[[], Any]:
        selector = ThompsonSelector(reward, n_plays=500, max_fdr=None, random_state=0)
        return lambda: selector.fit(lead.X, lead.y)

    def sparse_chain(engine: Callable[..., Any], **settings: Any) -> Callable[[], Any]:
        return lambda: engine(
            batch.X, batch.y, n_trees=50, n_iterations=20_000, sparse=True, **settings
        )

    return [
        *(
            Published(
                f"the paper's rule, M={m:,}, 500 plays of 10 trees, n=300, p=10,000",
                in_r,
                {
                    "tvselect": search(BartReward.paper(m)),
                    "its loop, stochtree's trees": search(_stochtree_reward(BURN + m)),
                },
            )
            for m, in_r in ((100, "under 40"), (1_000, "under 120"))
        ),
        Published(
            "DART, 50 trees, 20,000 iterations, n=1,000, p=1,000",
            "75",
            {
                "tvselect": sparse_chain(run_bart, n_burn=0, n_keep=1, random_state=0),
                "bartz": sparse_chain(peers.bartz_bare, seed=0),
            },
        ),
    ]


def published_settings() -> list[str]:
    """Seconds of every engine, and how many times longer it takes than tvselect."""
    rows = []
    for settings, in_r, engines in _published():
        own = 0.0
        for name, run in engines.items():
            started = time.perf_counter()
            run()
            seconds = time.perf_counter() - started
            own = own or seconds
            rows.append(f"| {settings} | {name} | {seconds:.1f} | {seconds / own:.0f} |")
            print(rows[-1], flush=True)
        rows.append(f"| {settings} | R, as published | {in_r} | |")
    return ["| settings | engine | seconds | times tvselect's |", "|---|---|---|---|", *rows]


def selections() -> list[str]:
    """CPU seconds and errors of whole selections from one table."""
    d = simulate("friedman", 300, 1_000, random_state=100)
    rows = []
    first = 0.0
    for name in SELECTIONS:
        made = judge(ALL_METHODS[name](0), d)
        first = first or made.seconds
        rows.append(
            f"| {name} | {made.seconds:.1f} | {made.seconds / first:.1f} | "
            f"{made.found} of 5 | {made.false} |"
        )
        print(rows[-1], flush=True)
    return [
        "| method | CPU seconds | times the first | found | false |",
        "|---|---|---|---|---|",
        *rows,
    ]
