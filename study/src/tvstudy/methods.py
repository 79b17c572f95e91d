"""The methods of the study by name, each with the settings it is compared with."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from tvselect.rewards import BartReward
from tvselect.selectors import Search, StreamingThompsonSelector, ThompsonSelector
from tvstudy.baselines import (
    AlphaInvesting,
    BartBaseline,
    Boruta,
    ForestBaseline,
    Horseshoe,
    KnockoffFilter,
    LassoBaseline,
    RfecvBaseline,
    SisBart,
    SpikeSlabLasso,
    StabilitySelection,
)
from tvstudy.baselines.hidimstat import Hidimstat
from tvstudy.baselines.ipss import Ipss

Method = Callable[[int], Any]
"""``method(seed)``: a selector that has not been fitted yet."""


def _offline(reward: BartReward | None = None, *, patience: int | None = None) -> Method:
    return lambda seed: ThompsonSelector(
        reward, n_plays=500, search=Search(patience=patience), max_fdr=None, random_state=seed
    )


def _online(batch_size: int, n_iterations: int, n_rounds: int | None) -> Method:
    return lambda seed: StreamingThompsonSelector(
        BartReward(n_iterations=n_iterations),
        batch_size=batch_size,
        n_rounds=n_rounds,
        search=Search(patience=100 if n_rounds is None else None),
        max_fdr=None,
        random_state=seed,
    )


def _rival(kind: Callable[..., Any], **settings: Any) -> Method:
    make = partial(kind, **settings)
    return lambda seed: make(random_state=seed)


METHODS: dict[str, Method] = {
    "TVS": _offline(),
    "TVS, patience 100": _offline(patience=100),
    "TVS paper, M=500": _offline(BartReward.paper(500)),
    "TVS paper, M=1000": _offline(BartReward.paper(1000)),
    "TVS paper sparse, M=500": _offline(BartReward.paper(500, sparse=True)),
    "TVS paper sparse, M=1000": _offline(BartReward.paper(1000, sparse=True)),
    "BART, 20 trees": _rival(BartBaseline, n_trees=20),
    "BART, 20 trees, inclusion": _rival(BartBaseline, n_trees=20, cut="inclusion"),
    "DART, 50 trees": _rival(BartBaseline, n_trees=50, sparse=True),
    "DART, 50 trees, inclusion": _rival(BartBaseline, n_trees=50, sparse=True, cut="inclusion"),
    "DART, 10 chains of 20 trees": _rival(
        BartBaseline, n_trees=20, sparse=True, n_iterations=20_000, n_chains=10
    ),
    "LASSO, 1 s.e.": _rival(LassoBaseline, rule="1se"),
    "LASSO, CV": _rival(LassoBaseline, rule="min"),
    "spike-and-slab LASSO": _rival(SpikeSlabLasso),
    "SIS + BART": _rival(SisBart),
    "horseshoe": _rival(Horseshoe),
    "Boruta": _rival(Boruta),
    "knockoffs, q=0.1": _rival(KnockoffFilter, q=0.1),
    "knockoffs, q=0.2": _rival(KnockoffFilter, q=0.2),
    "knockoffs, TVS, q=0.1": _rival(KnockoffFilter, statistic="tvs"),
    "stability selection": _rival(StabilitySelection),
    "random forest": _rival(ForestBaseline),
    "RFECV": _rival(RfecvBaseline),
    "alpha-investing": _rival(AlphaInvesting),
    **{
        f"TVS online, s={size}, M={m}, {rounds} rounds"
        if rounds
        else f"TVS online, s={size}, M={m}, patience 100": _online(size, m, rounds)
        for size in (500, 1000)
        for m in (500, 1000)
        for rounds in (1, 5, 10, None)
    },
}


def _extra(package: str, baseline: type[Hidimstat | Ipss], **settings: Any) -> Method:
    def make(seed: int) -> Hidimstat | Ipss:
        import_module(package)  # an extra, and seconds that are not its selection's
        return baseline(**settings, random_state=seed)

    return make


CONTROLLED: dict[str, Method] = {"TVS-FDR": _rival(ThompsonSelector), "IPSS": _extra("ipss", Ipss)}
"""Methods that bound false discoveries, as they come: those of the battery."""
WITH_EXTRAS: dict[str, Method] = {
    "IPSS, LASSO": _extra("ipss", Ipss, selector="l1"),
    "hidimstat, CRT": _extra("hidimstat", Hidimstat),
    "hidimstat, knockoffs": _extra("hidimstat", Hidimstat, test="knockoffs"),
}
"""Others of packages that the study does not need."""
ALL_METHODS = ChainMap(METHODS, CONTROLLED, WITH_EXTRAS)
