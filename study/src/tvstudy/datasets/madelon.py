"""Madelon: the artificial table of the NIPS 2003 challenge in feature selection."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from tvstudy.datasets.home import find_folder

FILE = "madelon.mat"
SHAPE = (2600, 500)
RELEVANT = (28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472,
            475, 493)  # fmt: skip
"""Columns with an R^2 of 0.98 or more on the others; the next best has 0.22."""


class Madelon(NamedTuple):
    """The table, its two classes and which columns are no probes."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    support: NDArray[np.bool_]


def load_madelon(data_home: str | os.PathLike[str] | None = None) -> Madelon:
    """Read Madelon, training and validation rows together.

    Five columns span a hypercube whose corners make the classes, fifteen are linear
    combinations of them; the others are noise.

    Parameters
    ----------
    data_home : path, default=None
        Where ``madelon.mat`` is: the folder itself or its subfolder ``madelon``. None is the
        environment variable ``TVSELECT_DATA``, or ``~/tvselect_data``.

    Returns
    -------
    Madelon
        ``X`` of shape (2600, 500).

    Raises
    ------
    OSError
        The file is missing.
    ValueError
        It is something else.
    """
    path = find_folder(data_home, "madelon", [FILE]) / FILE
    if not path.is_file():
        raise FileNotFoundError(f"Madelon is not here: there is no {path}")
    try:
        table = loadmat(path)
        X, y = table["X"], table["Y"]
    except (KeyError, MatReadError, NotImplementedError, TypeError) as error:
        raise ValueError(f"{path} is not the table Madelon ({error})") from error
    if X.shape != SHAPE:
        raise ValueError(f"{path} is not the table Madelon: its X has the shape {X.shape}")
    support = np.isin(np.arange(SHAPE[1]), RELEVANT)
    return Madelon(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64).ravel(), support)
