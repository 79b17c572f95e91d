"""A direct-mail experiment: who gives after a letter (Karlan and List 2007)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

MISSING = -999
OUTCOME = "out_gavedum"
MAIL = "treatment"


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
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError("load_direct_mail needs pandas: pip install pandas") from None
    table: Any = pd.read_csv(path)
    wanted = [name for name in (OUTCOME, MAIL) if name not in table.columns]
    if wanted:
        raise ValueError(f"{path} has no column {wanted[0]!r}; it is not the mail experiment")
    covariates = [
        name for name in table.columns if not name.startswith(("out_", "treat_")) and name != MAIL
    ]
    letter = [name for name in table.columns if name.startswith("treat_")]
    X = table[[MAIL, *letter, *covariates]].replace(MISSING, np.nan).astype(np.float64)
    if interactions:
        products = X[covariates].mul(X[MAIL], axis=0).add_prefix("mail x ")
        X = pd.concat([X, products], axis=1)
    return Bunch(data=X, target=table[OUTCOME].to_numpy(), feature_names=list(X.columns))
