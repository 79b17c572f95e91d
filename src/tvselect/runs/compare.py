"""Runs side by side: who selects what, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tvselect.bandit.journal import Journal, JournalError
from tvselect.runs import RunError
from tvselect.runs.folder import RunFolder, RunRecord, from_csv
from tvselect.selectors.results import mean_jaccard
from tvselect.words import listed

NOT_THE_SEARCH = ("seed", "time_limit", "jobs", "window")
STREAM_ONLY, MEMORY_ONLY = ("batch_size", "rounds"), ("plays",)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
OPPOSITES = {"up": "down", "down": "up", "valley": "peak", "peak": "valley"}
FAR_APART, MOST_SENTENCES = 2.0, 10


class Compared(NamedTuple):
    """A variable in several runs; None where a run did not have it."""

    name: str
    selected: tuple[bool, ...]
    selection_rate: tuple[float | None, ...]
    q_value: tuple[float | None, ...]  #: None also without decoys
    effect: tuple[float | None, ...]  #: None also where it was not measured
    direction: tuple[str, ...]

    @property
    def in_all(self) -> bool:
        """Whether all runs select it."""
        return all(self.selected)

    @property
    def difference(self) -> float | None:
        """How much higher the selection rate is in the second run; of more, the widest gap."""
        rates = [rate for rate in self.selection_rate if rate is not None]
        if len(rates) < len(self.selection_rate):
            return None
        return round(rates[1] - rates[0] if len(rates) == 2 else max(rates) - min(rates), 6)


@dataclass(frozen=True)
class Comparison:
    """Several runs."""

    folders: tuple[str, ...]
    variables: list[Compared]  #: That one of the runs selects, those of all first
    #: Variables that two runs both select, over those that one of them does, 1 for two empty sets;
    #: the mean over pairs of runs.
    jaccard: float
    largest_difference: Compared | None  #: The variable that they see most differently
    differences: list[str]  #: How data and settings differ, in sentences
    effects: list[str]  #: How effects differ, in sentences


def compare(*folders: RunFolder) -> Comparison:
    """Compare two runs or more; a folder that holds no finished run is a RunError."""
    if len(folders) < 2:
        raise RunError("one run alone cannot be compared; name two or more")
    runs = [folder.read_run() for folder in folders]
    tables = [{v.name: v for v in from_csv(folder.variables) if not v.always} for folder in folders]
    every = []
    for name in dict.fromkeys(name for table in tables for name in table):
        found = [table.get(name) for table in tables]
        every.append(
            Compared(
                name,
                tuple(v is not None and v.selected for v in found),
                tuple(v and v.selection_rate for v in found),
                tuple(v and v.q_value for v in found),
                tuple(v and v.effect for v in found),
                tuple(v.direction if v else "" for v in found),
            )
        )
    chosen = [one for one in every if any(one.selected)]
    # Those of most runs first, of as many those that the later runs select.
    chosen.sort(
        key=lambda one: (
            -sum(one.selected),
            one.selected,
            -max(rate or 0.0 for rate in one.selection_rate),
        )
    )
    shared = [one for one in every if one.difference is not None]
    sets = np.array([one.selected for one in chosen], dtype=np.bool_).reshape(-1, len(runs)).T
    return Comparison(
        folders=tuple(str(folder.path) for folder in folders),
        variables=chosen,
        jaccard=mean_jaccard(sets),
        largest_difference=max(shared, key=lambda one: abs(one.difference or 0.0), default=None),
        differences=_differences(runs, [_window(folder) for folder in folders]),
        effects=_effects(runs, chosen),
    )


def _ordinal(place: int) -> str:
    return ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"


def _differ(values: Sequence[Any], what: str) -> list[str]:
    """What the runs differ in, if they do."""
    if all(value == values[0] for value in values):
        return []
    return [f"The runs differ in {what}: {_and(values)}."]


def _and(values: Sequence[Any]) -> str:
    *first, last = ("not set" if value is None else str(value) for value in values)
    return f"{', '.join(first)} and {last}"


def _window(folder: RunFolder) -> int | None:
    """The window of a run, which depends on its workers where it was not given."""
    if not folder.journal.exists():  # to open it would make it
        return None
    with suppress(JournalError), Journal(folder.journal) as journal:
        return None if journal.header is None else journal.header.window
    return None


def _differences(runs: Sequence[RunRecord], windows: Sequence[int | None]) -> list[str]:
    said: list[str] = []
    plans = [run.plan for run in runs]
    is_mixed = len({plan.stream for plan in plans}) > 1  # of which different parts are hashed
    if len({run.table_stamp if is_mixed else run.table_hash for run in runs}) > 1:
        tables = list(dict.fromkeys(plan.file.table for plan in plans))
        if len({Path(table).name for table in tables}) == len(tables):
            tables = [Path(table).name for table in tables]
        changed = "was written again" if is_mixed else "has changed"
        what = f"{tables[0]} {changed}" if len(tables) == 1 else " and ".join(tables)
        said.append(f"The data {'may differ' if is_mixed else 'differ'} ({what}).")
    said += _differ([plan.target for plan in plans], "target")
    said += _differ([plan.facts.outcome.family for plan in plans], "family")
    said += _differ([plan.where or "all" for plan in plans], "rows")
    said += _differ([plan.stream for plan in plans], "streamed")
    said += _differ([plan.row_groups for plan in plans], "row groups")
    said += _differ([plan.order for plan in plans], "order")
    if None not in windows and len(set(windows)) > 1:
        what = "plays chosen together, as --window says, or else the number of workers (--jobs)"
        said.append(f"The runs differ in window: {_and(windows)} {what}.")
    common = set(plans[0].columns).intersection(*(plan.columns for plan in plans))
    for place, plan in enumerate(plans):
        if only := [name for name in plan.columns if name not in common]:
            which = f"The {_ordinal(place)} run, but not every other one,"
            if len(runs) == 2:
                which = f"Only the {_ordinal(place)} run"
            said.append(f"{which} chose from {listed(only)}.")
    if len({repr((plan.feature_groups, plan.always)) for plan in plans}) > 1:
        said.append("The runs differ in feature groups or in columns that are always included.")
    skip = {*NOT_THE_SEARCH}
    for plan in plans:
        skip.update(MEMORY_ONLY if plan.stream else STREAM_ONLY)
    for field in fields(runs[0].settings):
        if field.name not in skip:
            values = [getattr(run.settings, field.name) for run in runs]
            said += _differ(values, field.name.replace("_", " "))
    for place, run in enumerate(runs):
        if run.state != "done":
            which = _ordinal(place)
            said.append(f"The {which} run is not complete ({run.state}, {run.n_plays} plays).")
    if len(set(versions := [run.version for run in runs])) > 1:
        said.append(f"They were run by tvselect {_and(versions)}.")
    return said


def _effects(runs: Sequence[RunRecord], variables: Sequence[Compared]) -> list[str]:
    """Where effects point in opposite directions, or are far apart."""
    if len({(run.plan.target, run.plan.facts.outcome.family) for run in runs}) > 1:
        return []
    said = []
    for one in variables:
        places = enumerate(zip(one.selected, one.effect, strict=True))
        effects = {k: effect for k, (chosen, effect) in places if chosen and effect is not None}
        ways = {k: one.direction[k] for k in effects if one.direction[k] in OPPOSITES}
        pairs = [(a, b) for a, b in combinations(ways, 2) if OPPOSITES[ways[a]] == ways[b]]
        if pairs:
            (a, b), *_ = pairs
            what, shown = "has another direction", ways
        elif effects:
            a, b = min(effects, key=effects.__getitem__), max(effects, key=effects.__getitem__)
            if effects[b] <= FAR_APART * effects[a]:
                continue
            what, shown = "differs", {k: f"{effect:.3g}" for k, effect in effects.items()}
        else:
            continue
        said.append(
            f"The effect of {one.name} {what}: {shown[a]} in the {_ordinal(a)} run, {shown[b]} in "
            f"the {_ordinal(b)}."
        )
    more = len(said) - MOST_SENTENCES
    return said[:MOST_SENTENCES] + [f"So do {more} more effects."] * (more > 0)
