"""Two runs side by side: who selects what, and how far apart they are."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import NamedTuple

from tvselect.bandit.journal import Journal, JournalError
from tvselect.runs.folder import RunFolder, RunRecord, from_csv
from tvselect.words import listed

NOT_THE_SEARCH = ("seed", "time_limit", "jobs", "window")
STREAM_ONLY, MEMORY_ONLY = ("batch_size", "rounds"), ("plays",)


class Pair(NamedTuple):
    """A variable in two runs; None where a run did not have it."""

    name: str
    selected: tuple[bool, bool]
    selection_rate: tuple[float | None, float | None]
    q_value: tuple[float | None, float | None]  #: None also without decoys

    @property
    def difference(self) -> float | None:
        """How much higher the selection rate is in the second run."""
        first, second = self.selection_rate
        return None if first is None or second is None else round(second - first, 6)


@dataclass(frozen=True)
class Comparison:
    """Two runs."""

    folders: tuple[str, str]
    pairs: list[Pair]  #: Variables that one of them selects, those of both first
    #: Variables that both select, over those that one of them does; 1 for two empty sets.
    jaccard: float
    largest_difference: Pair | None  #: The variable that they see most differently, selected or not
    differences: list[str]  #: How data and settings differ, in sentences


def compare(first: RunFolder, second: RunFolder) -> Comparison:
    """Compare two runs; a folder that holds no finished run is a RunError."""
    runs = first.read_run(), second.read_run()
    tables = [
        {v.name: v for v in from_csv(folder.variables) if not v.always}
        for folder in (first, second)
    ]
    every = []
    for name in dict.fromkeys([*tables[0], *tables[1]]):
        one, two = (table.get(name) for table in tables)
        every.append(
            Pair(
                name,
                (one is not None and one.selected, two is not None and two.selected),
                (one and one.selection_rate, two and two.selection_rate),
                (one and one.q_value, two and two.q_value),
            )
        )
    rank = {(True, True): 0, (False, True): 1, (True, False): 2}  # those of both first
    pairs = [pair for pair in every if any(pair.selected)]
    pairs.sort(key=lambda pair: (rank[pair.selected], -max(r or 0.0 for r in pair.selection_rate)))
    both = sum(all(pair.selected) for pair in pairs)
    shared = [pair for pair in every if pair.difference is not None]
    return Comparison(
        folders=(str(first.path), str(second.path)),
        pairs=pairs,
        jaccard=both / len(pairs) if pairs else 1.0,
        largest_difference=max(shared, key=lambda p: abs(p.difference or 0.0), default=None),
        differences=_differences(*runs, (_window(first), _window(second))),
    )


def _window(folder: RunFolder) -> int | None:
    """The window of a run, which depends on its workers where it was not given."""
    if not folder.journal.exists():  # to open it would make it
        return None
    with suppress(JournalError), Journal(folder.journal) as journal:
        return None if journal.header is None else journal.header.window
    return None


def _differences(
    first: RunRecord, second: RunRecord, windows: tuple[int | None, int | None]
) -> list[str]:
    said: list[str] = []
    a, b = first.plan, second.plan
    if first.table_hash != second.table_hash:
        one, two = a.file.table, b.file.table
        what = f"{one} has changed" if one == two else f"{one} and {two}"
        said.append(f"The data differ ({what}).")
    for was, now, what in (
        (a.target, b.target, "target"),
        (a.facts.outcome.family, b.facts.outcome.family, "family"),
        (a.stream, b.stream, "streamed"),
        (a.row_groups, b.row_groups, "row groups"),
        (a.order, b.order, "order"),
    ):
        if was != now:
            said.append(f"The runs differ in {what}: {was} and {now}.")
    if None not in windows and windows[0] != windows[1]:
        said.append(
            f"The runs differ in window: {windows[0]} and {windows[1]} plays chosen together, as "
            "--window says, or else the number of workers (--jobs)."
        )
    for plan, other, which in ((a, b, "first"), (b, a, "second")):
        if only := [name for name in plan.columns if name not in set(other.columns)]:
            said.append(f"Only the {which} run chose from {listed(only)}.")
    if (a.feature_groups, a.always) != (b.feature_groups, b.always):
        said.append("The runs differ in feature groups or in columns that are always included.")
    skip = {*NOT_THE_SEARCH, *(MEMORY_ONLY if a.stream else STREAM_ONLY)}
    for field in fields(first.settings):
        was, now = getattr(first.settings, field.name), getattr(second.settings, field.name)
        if field.name not in skip and was != now:
            said.append(f"The runs differ in {field.name.replace('_', ' ')}: {was} and {now}.")
    for run, which in ((first, "first"), (second, "second")):
        if run.state != "done":
            said.append(f"The {which} run is not complete ({run.state}, {run.n_plays} plays).")
    if first.version != second.version:
        said.append(f"They were run by tvselect {first.version} and {second.version}.")
    return said
