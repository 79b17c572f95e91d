"""Arms: which features make one, and which columns it plays.

A feature is a column of the user's table; text becomes several columns of numbers. An arm is a
feature, a group of features that are played together, or a decoy of one of these. Decoys are the
last arms and can never be selected.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.table import find_feature

Groups = Mapping[Hashable, Sequence[Any]] | Sequence[Hashable] | Literal["ld"] | None
PerArm = float | NDArray[np.float64]
DecoyKind = Literal["shuffled", "plain", "knockoffs"]
IntArray = NDArray[np.int64]


class ArmColumns(NamedTuple):
    """The columns that every arm plays: arm ``i`` those ``[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    columns: IntArray
    always: IntArray  #: Columns that are part of every play

    @property
    def arms(self) -> IntArray:
        """The arm of each entry of ``columns``."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @property
    def idle(self) -> NDArray[np.bool_] | None:
        """Arms without columns; None where there are none."""
        idle = np.diff(self.starts) == 0
        return idle if idle.any() else None

    @property
    def is_plain(self) -> bool:
        """Whether every column is its own arm."""
        return self.always.size == 0 and self.starts.size - 1 == self.columns.size

    def arm_of(self, columns: IntArray) -> IntArray:
        """The arm of each of some columns of the table; -1 where there is none."""
        arm_of = np.full(max(self.columns.max(initial=-1), columns.max(initial=-1)) + 1, -1)
        arm_of[self.columns] = self.arms
        return arm_of[columns]

    def of(self, arms: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
        """The columns of some arms, one arm after the other, and where each arm's begin."""
        sizes = self.starts[arms + 1] - self.starts[arms]
        ends = np.cumsum(sizes)
        within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
        return self.columns[np.repeat(self.starts[arms], sizes) + within], ends - sizes

    def with_copies(self, n_columns: int, own: IntArray, held: Sequence[IntArray]) -> ArmColumns:
        """These arms and, behind them, copies of them all that play copies of their columns.

        Of the ``n_columns`` of the table only those of ``own`` take part, in rising order, and of
        its copies, which stand behind it, those that each has ``held``.
        """
        sizes = [some.size for some in held]
        behind = np.arange(n_columns, n_columns + sum(sizes))
        places = [own, *np.split(behind, np.cumsum(sizes)[:-1])]
        arms, columns, n_arms = [], [], self.starts.size - 1
        for k, (some, place) in enumerate(zip([own, *held], places, strict=True)):
            is_there = np.isin(self.columns, some)
            arms.append(self.arms[is_there] + k * n_arms)
            columns.append(place[np.searchsorted(some, self.columns[is_there])])
        starts = np.searchsorted(np.concatenate(arms), np.arange(n_arms * (1 + len(held)) + 1))
        return ArmColumns(starts, np.concatenate(columns), self.always)


@dataclass(frozen=True)
class ArmLayout:
    """The arms of a run: copy ``b`` of arm ``i`` is arm ``(b + 1) n_candidates + i``."""

    names: Sequence[str]  #: Of the features
    arm_of_feature: IntArray  #: -1 for features that are always included
    labels: Mapping[int, str]  #: What the user calls the arms of several features
    n_copies: int = 0  #: Decoys of every arm

    @cached_property
    def n_candidates(self) -> int:
        """Number of arms that can be selected."""
        return int(self.arm_of_feature.max(initial=-1)) + 1

    @property
    def n_arms(self) -> int:
        """Number of arms, decoys included."""
        return self.n_candidates * (1 + self.n_copies)

    @property
    def n_decoys(self) -> int:
        """Number of arms that can never be selected."""
        return self.n_candidates * self.n_copies

    @property
    def first_features(self) -> IntArray:
        """The first feature of every arm that can be selected."""
        arms, features = np.unique(self.arm_of_feature, return_index=True)
        return features[arms >= 0]

    def origins(self, decoys: IntArray) -> tuple[IntArray, IntArray]:
        """The arms that some decoys are copies of, and the number of each copy, from 1."""
        copies, arms = np.divmod(decoys, self.n_candidates)
        return arms, copies

    def by_feature(self, values: NDArray[Any], always: Any) -> NDArray[Any]:
        """Values by arm to values by feature; ``always`` for features always included."""
        return np.where(self.arm_of_feature >= 0, values[self.arm_of_feature], always)

    def by_arm(self, value: Any, what: str) -> PerArm:
        """A setting for all, or one value per feature, by arm; decoys like their originals."""
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must hold numbers, got {value!r}") from None
        if array.ndim == 0:
            return float(array)
        if array.shape != self.arm_of_feature.shape:
            raise ValueError(
                f"{what} has shape {array.shape}; it takes one value, or one for each of the "
                f"{self.arm_of_feature.size} columns"
            )
        arms, wanted = self.arm_of_feature, array[self.arm_of_feature >= 0]
        by_arm = np.empty(self.n_candidates)
        by_arm[arms[arms >= 0]] = wanted
        if not np.array_equal(by_arm[arms[arms >= 0]], wanted, equal_nan=True):
            raise ValueError(f"{what} must be the same for all columns of a group")
        return np.tile(by_arm, 1 + self.n_copies)

    def columns(self, feature_of: IntArray) -> ArmColumns:
        """The columns of the arms without decoys, from the feature of each column."""
        arm_of_column = self.arm_of_feature[feature_of]
        order = np.argsort(arm_of_column, kind="stable")
        starts = np.searchsorted(arm_of_column[order], np.arange(self.n_candidates + 1))
        n_always = starts[0]
        return ArmColumns(starts - n_always, columns=order[n_always:], always=order[:n_always])


def lay_out_arms(
    names: Sequence[str],
    feature_groups: Groups = None,
    always_include: Sequence[Any] | None = None,
    *,
    n_copies: int = 0,
) -> ArmLayout:
    """Arms of features, with ``n_copies`` decoys each; a ValueError where they do not fit."""
    first_of = np.arange(len(names))
    owner: dict[int, Hashable] = {}
    label_of: dict[int, str] = {}
    for label, places in _groups_of(feature_groups, names).items():
        for place in places:
            if place in owner:
                raise ValueError(
                    f"column {names[place]!r} is in groups {owner[place]!r} and {label!r}; "
                    "feature_groups must not overlap"
                )
            owner[place] = label
        first_of[places] = min(places)
        label_of[min(places)] = str(label)
    if always_include is None:
        always_include = []
    if isinstance(always_include, str) or not np.iterable(always_include):
        raise ValueError(f"always_include must be a list of columns, got {always_include!r}")
    played = np.ones(len(names), dtype=np.bool_)
    for item in always_include:
        played[find_feature(item, names, "always_include")] = False
    if not played.any():
        raise ValueError("always_include holds every column: there is nothing left to select")
    firsts, arms = np.unique(first_of[played], return_inverse=True)
    arm_of_feature = np.full(len(names), -1)
    arm_of_feature[played] = arms
    arm_of_first = dict(zip(firsts.tolist(), range(firsts.size), strict=True)) if label_of else {}
    labels = {arm_of_first[j]: label for j, label in label_of.items() if j in arm_of_first}
    return ArmLayout(names, arm_of_feature, labels, n_copies)


def _groups_of(groups: Groups, names: Sequence[str]) -> dict[Hashable, list[int]]:
    """The features of every group, by its label; labels of single features make none."""
    if groups is None:
        return {}
    found: dict[Hashable, list[int]] = {}
    if isinstance(groups, Mapping):
        for label, members in groups.items():
            if isinstance(members, str) or not np.iterable(members) or len(members) == 0:
                raise ValueError(f"group {label!r} must list at least one column")
            what = f"group {label!r}"
            found[label] = [find_feature(member, names, what) for member in members]
        return found
    labels = list(groups) if np.iterable(groups) and not isinstance(groups, str) else None
    if labels is None or len(labels) != len(names):
        raise ValueError(
            "feature_groups must be a mapping of labels to columns, or one label for each of the "
            f"{len(names)} columns"
        )
    for j, label in enumerate(labels):
        found.setdefault(label, []).append(j)
    return {label: places for label, places in found.items() if len(places) > 1}
