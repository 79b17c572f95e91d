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

from tvselect.inputs import Table, read_table
from tvselect.selectors.encoding.onehot import one_hot

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


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame or a :class:`Table`, and no array."""
    return isinstance(X, Table) or nw.dependencies.is_into_dataframe(X)


def read_features(X: Any) -> Features:
    """Columns of numbers from a table: one 0/1 column per category, NaN for missing.

    Parameters
    ----------
    X : array-like (rows, columns), a pandas, polars or Arrow data frame, or a Table

    Raises
    ------
    TypeError, ValueError
        As :func:`tvselect.inputs.read_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> features = read_features(pd.DataFrame({"n": [1.5, 2.5], "t": ["b", "a"]}))
    >>> features.X
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    >>> features.feature_of
    array([0, 1, 1])
    """
    table = read_table(X)
    if not table.categorical.any():
        return Features(table.numbers(), table.names, np.arange(table.n_columns))
    widths = np.ones(table.n_columns, dtype=np.int64)
    texts = {int(j): table.text(int(j)) for j in np.flatnonzero(table.categorical)}
    widths[list(texts)] = [max(1, len(text.levels)) for text in texts.values()]
    starts = np.cumsum(widths) - widths
    out = np.empty((table.n_rows, widths.sum()), order="F")
    numeric = np.flatnonzero(~table.categorical)
    if numeric.size:
        out[:, starts[numeric]] = table.numbers(numeric)
    for j, text in texts.items():
        out[:, starts[j] : starts[j] + widths[j]] = one_hot(text.codes, int(widths[j]))
    return Features(out, table.names, np.repeat(np.arange(table.n_columns), widths))


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
