"""A direct-mail experiment: who gives after a letter (Karlan and List 2007)."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from tvselect.inputs.errors import first_line

MISSING = -999
OUTCOME = "out_gavedum"
MAIL = "treatment"
MOST_BYTES = 2**26
"""The data take a sixth of that, unpacked."""


def load_direct_mail(path: str | Path, *, interactions: bool = True) -> Bunch:
    """Read the replication data of "Does price matter in charitable giving?".

    Parameters
    ----------
    path : path
        The CSV file (also gzip) with the columns ``treatment``, ``out_gavedum``, ...
    interactions : bool, default=True
        Add the product of the mail indicator with every covariate.

    Returns
    -------
    Bunch
        ``data`` (pandas data frame; -999 is missing), ``target`` (0 / 1: gave),
        ``feature_names``.

    Raises
    ------
    ValueError
        When the file is damaged or something else; names it.
    """
    content = _content(path)
    try:
        table: Any = pd.read_csv(io.BytesIO(content))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read as CSV ({first_line(error)})") from error
    wanted = [name for name in (OUTCOME, MAIL) if name not in table.columns]
    if wanted:
        raise ValueError(f"{path} has no column {wanted[0]!r}; it is not the mail experiment")
    covariates = [
        name for name in table.columns if not name.startswith(("out_", "treat_")) and name != MAIL
    ]
    letter = [name for name in table.columns if name.startswith("treat_")]
    if not table[OUTCOME].isin((0, 1)).all():
        raise ValueError(f"{path} has other values than 0 and 1 in {OUTCOME!r}; it is damaged")
    try:
        X = table[[MAIL, *letter, *covariates]].replace(MISSING, np.nan).astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} holds more than numbers ({first_line(error)})") from error
    if interactions:
        products = X[covariates].mul(X[MAIL], axis=0).add_prefix("mail x ")
        X = pd.concat([X, products], axis=1)
    return Bunch(data=X, target=table[OUTCOME].to_numpy(), feature_names=list(X.columns))


def _content(path: str | Path) -> bytes:
    """The text of a file, unpacked."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if is_packed else open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged ({error}); get it again") from error
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} is too large for the mail experiment")
    return content
