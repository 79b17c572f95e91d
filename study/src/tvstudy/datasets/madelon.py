"""Madelon: the artificial table of the NIPS 2003 challenge in feature selection."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from tvstudy.datasets.home import find_folder

FILE = "madelon.mat"
SHAPE = (2600, 500)


def load_madelon(data_home: str | os.PathLike[str] | None = None) -> NDArray[np.float64]:
    """Read the columns of Madelon, training and validation rows together.

    Twenty columns are linear combinations of five; the others are noise.

    Parameters
    ----------
    data_home : path, default=None
        Where ``madelon.mat`` is: the folder itself or its subfolder ``madelon``. None is the
        environment variable ``TVSELECT_DATA``, or ``~/tvselect_data``.

    Returns
    -------
    float64 array of shape (2600, 500)

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
        X = loadmat(path)["X"]
    except (KeyError, MatReadError, NotImplementedError, TypeError) as error:
        raise ValueError(f"{path} is not the table Madelon ({error})") from error
    if X.shape != SHAPE:
        raise ValueError(f"{path} is not the table Madelon: its X has the shape {X.shape}")
    return np.asarray(X, dtype=np.float64)
