"""Which features make an arm, and which columns an arm plays.

A feature is a column of the user's table; text features become several columns of numbers.
An arm is a feature, a group of features that are played together, or a decoy: an artificial
copy of an arm that can never be selected. Decoys are the last arms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Groups = Mapping[Hashable, Sequence[Any]] | Sequence[Hashable] | Literal["ld"] | None
PerArm = float | NDArray[np.float64]
DecoyKind = Literal["shuffled", "plain", "knockoffs"]


@dataclass(frozen=True)
class ArmColumns:
    """The columns that every arm plays: arm ``i`` those ``[starts[i]:starts[i + 1]]``."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    always: NDArray[np.int64]  #: Columns that are part of every play

    @property
    def idle(self) -> NDArray[np.bool_] | None:
        """Arms without columns; None where there are none."""
        idle = np.diff(self.starts) == 0
        return idle if idle.any() else None

    def arm_of(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The arm of each column; -1 where there is none."""
        last = max(self.columns.max(initial=-1), columns.max(initial=-1))
        arm_of = np.full(int(last) + 1, -1)
        arm_of[self.columns] = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        return arm_of[columns]

    @property
    def is_plain(self) -> bool:
        """Whether every column is its own arm."""
        return self.always.size == 0 and self.starts.size - 1 == self.columns.size

    def with_copies(
        self, n_columns: int, own: NDArray[np.int64], held: Sequence[NDArray[np.int64]]
    ) -> ArmColumns:
        """These arms and, behind them, copies of them all that play copies of their columns.

        Of the ``n_columns`` of the table those of ``own`` take part, in rising order; arms of
        others play none. Behind the table stand its copies, of which each holds some columns.
        """
        arms = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        ends = n_columns + np.cumsum([some.size for some in held])
        behind = [np.arange(end - some.size, end) for some, end in zip(held, ends, strict=True)]
        sizes, columns = [], []
        for some, places in zip([own, *held], [own, *behind], strict=True):
            place_of = np.full(n_columns, -1)
            place_of[some] = places
            is_there = place_of[self.columns] >= 0
            sizes.append(np.bincount(arms[is_there], minlength=self.starts.size - 1))
            columns.append(place_of[self.columns[is_there]])
        starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        return ArmColumns(starts, np.concatenate(columns), self.always)

    def of(self, arms: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of some arms, one arm after the other, and where each arm's begin."""
        sizes = self.starts[arms + 1] - self.starts[arms]
        ends = np.cumsum(sizes)
        within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
        return self.columns[np.repeat(self.starts[arms], sizes) + within], ends - sizes


@dataclass(frozen=True)
class ArmLayout:
    """The arms of a run: copy ``b`` of arm ``i`` is arm ``(b + 1) n_candidates + i``."""

    names: Sequence[str]  #: Of the features
    arm_of_feature: NDArray[np.int64]  #: -1 for features that are always included
    labels: Mapping[int, str]  #: What the user calls the arms of several features
    n_copies: int = 0  #: Decoys of every arm

    @property
    def n_candidates(self) -> int:
        """Number of arms that can be selected."""
        return int(self.arm_of_feature.max(initial=-1)) + 1

    @property
    def first_features(self) -> NDArray[np.int64]:
        """Of every arm that can be selected the first feature."""
        arms, features = np.unique(self.arm_of_feature, return_index=True)
        return features[arms >= 0]

    @property
    def n_arms(self) -> int:
        """Number of arms, decoys included."""
        return self.n_candidates * (1 + self.n_copies)

    @property
    def n_decoys(self) -> int:
        """Number of arms that can never be selected."""
        return self.n_arms - self.n_candidates

    def origins(self, decoys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The arms that some decoys are copies of, and the number of each copy, from 1."""
        copies, arms = np.divmod(decoys, self.n_candidates)
        return arms, copies

    def by_feature(self, values: NDArray[Any], always: Any) -> NDArray[Any]:
        """Values by arm to values by feature; ``always`` for features always included."""
        return np.where(self.arm_of_feature >= 0, values[self.arm_of_feature], always)

    def by_arm(self, value: Any, what: str) -> PerArm:
        """A setting for all, or one value per feature (alike within a group), by arm.

        A decoy has the value of the feature it stands for.
        """
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
        played = self.arm_of_feature >= 0
        by_arm = np.empty(self.n_candidates)
        by_arm[self.arm_of_feature[played]] = array[played]
        if not np.array_equal(by_arm[self.arm_of_feature[played]], array[played], equal_nan=True):
            raise ValueError(f"{what} must be the same for all columns of a group")
        return np.tile(by_arm, 1 + self.n_copies)

    def columns(self, feature_of: NDArray[np.int64]) -> ArmColumns:
        """The columns of the arms without decoys, from the feature of each column."""
        arm_of_column = self.arm_of_feature[feature_of]
        order = np.argsort(arm_of_column, kind="stable")
        n_always = int(np.count_nonzero(arm_of_column < 0))
        sizes = np.bincount(arm_of_column[arm_of_column >= 0], minlength=self.n_candidates)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return ArmColumns(starts, columns=order[n_always:], always=order[:n_always])


def lay_out_arms(
    names: Sequence[str],
    feature_groups: Groups = None,
    always_include: Sequence[Any] | None = None,
    *,
    n_copies: int = 0,
) -> ArmLayout:
    """Make arms of features, with ``n_copies`` decoys of every arm.

    Refuses names that the table does not have, groups that overlap or are empty, labels of
    the wrong length, and when no arm is left to play.

    Examples
    --------
    >>> layout = lay_out_arms(["a", "b", "c", "d"], feature_groups={"pair": ["b", "d"]})
    >>> layout.arm_of_feature, layout.labels
    (array([0, 1, 2, 1]), {1: 'pair'})
    """
    first_of = np.arange(len(names), dtype=np.int64)
    label_of: dict[int, str] = {}
    if feature_groups is not None:
        first_of, label_of = _group_features(feature_groups, names)
    always = np.zeros(len(names), dtype=np.bool_)
    if always_include is None:
        always_include = []
    if isinstance(always_include, str) or not np.iterable(always_include):
        raise ValueError(f"always_include must be a list of columns, got {always_include!r}")
    for item in always_include:
        always[_place(item, names, "always_include")] = True
    if always.all():
        raise ValueError("always_include holds every column: there is nothing left to select")
    used, arms = np.unique(first_of[~always], return_inverse=True)
    arm_of_feature = np.full(len(names), -1)
    arm_of_feature[~always] = arms
    labels = {
        int(np.searchsorted(used, first)): label
        for first, label in label_of.items()
        if first in used
    }
    return ArmLayout(names, arm_of_feature, labels, n_copies)


def _group_features(
    groups: Groups, names: Sequence[str]
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """By feature the first feature of its group, and by that one the group's label."""
    if not isinstance(groups, Mapping):
        labels = list(groups) if np.iterable(groups) and not isinstance(groups, str) else None
        if labels is None or len(labels) != len(names):
            raise ValueError(
                "feature_groups must be a mapping of labels to columns, or one label for each of "
                f"the {len(names)} columns"
            )
        first: dict[Hashable, int] = {}
        first_of = np.array([first.setdefault(label, j) for j, label in enumerate(labels)])
        sizes = np.bincount(first_of)
        return first_of, {j: str(label) for label, j in first.items() if sizes[j] > 1}
    first_of = np.arange(len(names), dtype=np.int64)
    owner: dict[int, Hashable] = {}
    label_of: dict[int, str] = {}
    for label, members in groups.items():
        if isinstance(members, str) or not np.iterable(members) or len(members) == 0:
            raise ValueError(f"group {label!r} must list at least one column")
        places = [_place(member, names, f"group {label!r}") for member in members]
        for place in places:
            if place in owner:
                raise ValueError(
                    f"column {names[place]!r} is in groups {owner[place]!r} and {label!r}; "
                    "feature_groups must not overlap"
                )
            owner[place] = label
        first_of[places] = min(places)
        label_of[min(places)] = str(label)
    return first_of, label_of


def _place(item: Any, names: Sequence[str], what: str) -> int:
    if isinstance(item, str):
        if item not in names:
            raise ValueError(f"{what} names {item!r}, which X does not have")
        return names.index(item)
    is_index = isinstance(item, int | np.integer) and not isinstance(item, bool)
    if is_index and 0 <= item < len(names):
        return int(item)
    raise ValueError(f"{what} has {item!r}; it takes names, or indices from 0 to {len(names) - 1}")
