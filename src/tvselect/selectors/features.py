"""From the table a user hands in to the arms of the game.

A feature is a column of the user's table. Text and categorical features become one 0/1
column per category. An arm is a feature, or a group of features that are played together.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Groups = Mapping[Hashable, Sequence[Any]] | Sequence[Hashable] | None


@dataclass(frozen=True)
class Features:
    """Features as columns of numbers.

    Attributes
    ----------
    X : array (rows, columns)
    names : sequence of str
        Of the features.
    feature_of : int64 array
        The feature that each column comes from.
    """

    X: NDArray[Any]
    names: Sequence[str]
    feature_of: NDArray[np.int64]

    @property
    def column_names(self) -> Sequence[str]:
        """Of the columns: each is called like the feature it comes from."""
        if self.feature_of.size == len(self.names):
            return self.names
        return tuple(self.names[j] for j in self.feature_of)


@dataclass(frozen=True)
class Deal:
    """Which columns an arm plays.

    Attributes
    ----------
    arm_of_feature : int64 array
        -1 for features that are always included.
    starts, columns : int64 arrays
        Arm ``i`` plays ``columns[starts[i]:starts[i + 1]]``.
    always : int64 array
        Columns that are part of every play.
    labels : dict
        What the user calls the arms of several features.
    """

    arm_of_feature: NDArray[np.int64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    always: NDArray[np.int64]
    labels: Mapping[int, str] = field(default_factory=dict)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.starts.size - 1

    @property
    def is_plain(self) -> bool:
        """Whether every column is its own arm."""
        return self.always.size == 0 and self.n_arms == self.columns.size


def decoy_name(name: str) -> str:
    """Name of the knockoff of a feature."""
    return f"knockoff of {name}"


def needs_encoding(X: Any) -> bool:
    """Whether a table is a data frame with text, categories or (to be refused) dates."""
    frame = nw.from_native(X, pass_through=True)
    return isinstance(frame, nw.DataFrame) and any(
        dtype in (nw.String, nw.Categorical, nw.Enum) or dtype.is_temporal()
        for dtype in frame.schema.values()
    )


def encode_categories(X: Any) -> Features:
    """Columns of numbers from a data frame: one 0/1 column per category, NaN for missing."""
    frame = nw.from_native(X, eager_only=True)
    columns: list[NDArray[np.float64]] = []
    feature_of: list[int] = []
    for j, name in enumerate(frame.columns):
        series = frame.get_column(name)
        if series.dtype in (nw.String, nw.Categorical, nw.Enum):
            series = series.cast(nw.String)
            missing = series.is_null().to_numpy()
            labels = np.array(series.fill_null("").to_list(), dtype=str)
            if missing.all():
                columns.append(np.full(len(labels), np.nan))
                feature_of.append(j)
            for label in np.unique(labels[~missing]):
                columns.append(np.where(missing, np.nan, labels == label))
                feature_of.append(j)
        elif series.dtype.is_numeric() or series.dtype == nw.Boolean:
            columns.append(series.cast(nw.Float64).to_numpy())
            feature_of.append(j)
        else:
            raise TypeError(
                f"column {str(name)!r} of X holds {series.dtype}; make it numbers, text or "
                "categories, or leave it out"
            )
    return Features(np.column_stack(columns), tuple(map(str, frame.columns)), np.array(feature_of))


def refuse_nonfinite(features: Features, takes_missing: bool, *, takes_empty: bool = False) -> None:
    """Raise a ValueError that names the first column with values that cannot be used.

    These are infinite ones, missing ones where the reward takes none, and columns without
    any value unless ``takes_empty``: a batch of a stream may have such columns.
    """
    X = features.X
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype.kind != "f" or np.isfinite(X.sum()):
            return
    missing = np.isnan(X)
    for bad, what in (
        (np.isinf(X).any(axis=0), "infinity"),
        (missing.any(axis=0) & (not takes_missing), "NaN, which the reward cannot take,"),
        (missing.all(axis=0) & (not takes_empty), "no value at all"),
    ):
        places = np.flatnonzero(bad)
        if places.size:
            name = features.names[features.feature_of[places[0]]]
            others = f" and {places.size - 1} more" if places.size > 1 else ""
            raise ValueError(f"X contains {what} in column {name!r}{others}")


def deal(features: Features, groups: Groups, always_include: Sequence[Any] | None) -> Deal:
    """Deal the columns out to arms.

    Raises
    ------
    ValueError
        For names that the table does not have, groups that overlap or are empty, labels of
        the wrong length, or when no arm is left to play.
    """
    n = len(features.names)
    arm_of_feature = np.arange(n, dtype=np.int64)
    label_of: dict[int, str] = {}
    if groups is not None:
        arm_of_feature, label_of = _group_features(groups, features.names)
    always = np.zeros(n, dtype=np.bool_)
    if always_include is None:
        always_include = []
    if isinstance(always_include, str) or not np.iterable(always_include):
        raise ValueError(f"always_include must be a list of columns, got {always_include!r}")
    for item in always_include:
        always[_place(item, features.names, "always_include")] = True
    arm_of_feature[always] = -1
    if always.all():
        raise ValueError("always_include holds every column: there is nothing left to select")
    used = np.unique(arm_of_feature[~always])
    arm_of_feature[~always] = np.searchsorted(used, arm_of_feature[~always])
    arm_of_column = arm_of_feature[features.feature_of]
    order = np.argsort(arm_of_column, kind="stable")
    n_always = int(np.count_nonzero(arm_of_column < 0))
    counts = np.bincount(arm_of_column[arm_of_column >= 0], minlength=used.size)
    return Deal(
        arm_of_feature=arm_of_feature,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        columns=order[n_always:],
        always=order[:n_always],
        labels={
            int(np.searchsorted(used, first)): label
            for first, label in label_of.items()
            if first in used
        },
    )


def _group_features(
    groups: Groups, names: Sequence[str]
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """By feature the first feature of its group, and by that one the group's label."""
    n = len(names)
    if isinstance(groups, Mapping):
        arm_of_feature = np.arange(n, dtype=np.int64)
        owner: dict[int, Hashable] = {}
        places_of: dict[Hashable, list[int]] = {}
        for label, members in groups.items():
            if isinstance(members, str) or not np.iterable(members) or len(members) == 0:
                raise ValueError(f"group {label!r} must list at least one column")
            places = [_place(member, names, f"group {label!r}") for member in members]
            for place in places:
                if place in owner:
                    raise ValueError(
                        f"column {names[place]!r} is in groups {owner[place]!r} and {label!r}; "
                        "groups must not overlap"
                    )
                owner[place] = label
            places_of[label] = places
            arm_of_feature[places] = min(places)
        return arm_of_feature, {min(places): str(label) for label, places in places_of.items()}
    labels = list(groups) if np.iterable(groups) and not isinstance(groups, str) else None
    if labels is None or len(labels) != n:
        raise ValueError(
            f"groups must be a mapping of labels to columns, or one label for each of the {n} "
            "columns"
        )
    first: dict[Hashable, int] = {}
    by_feature = np.array([first.setdefault(label, j) for j, label in enumerate(labels)])
    sizes = np.bincount(by_feature)
    return by_feature, {j: str(label) for label, j in first.items() if sizes[j] > 1}


def _place(item: Any, names: Sequence[str], what: str) -> int:
    if isinstance(item, str):
        if item not in names:
            raise ValueError(f"{what} names {item!r}, which X does not have")
        return names.index(item)
    is_index = isinstance(item, int | np.integer) and not isinstance(item, bool)
    if is_index and 0 <= item < len(names):
        return int(item)
    raise ValueError(f"{what} has {item!r}; it takes names, or indices from 0 to {len(names) - 1}")
