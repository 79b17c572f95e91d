"""Settings and data that the streaming selector refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.selectors.streams import (
    NAMES,
    P,
    make_data,
    selector,
)
from tvselect import BartReward, PValueReward

BAD_SETTINGS = {
    "no rows": (dict(batch_size=0), ValueError, "batch_size"),
    "half a row": (dict(batch_size=2.5), TypeError, "batch_size"),
    "few rows": (
        dict(reward=BartReward(min_leaf=8), batch_size=15),
        ValueError,
        "15 rows .* at least 16",
    ),
    "one row": (dict(batch_size=1), ValueError, "1 rows .* at least 2;.* batch_size="),
    "no round": (dict(n_rounds=0), ValueError, "n_rounds"),
    "half a round": (dict(n_rounds=0.5), TypeError, "n_rounds"),
    "for ever": (dict(n_rounds=None), ValueError, "patience or time_limit"),
    "no patience": (dict(patience=0), ValueError, "patience"),
    "no time": (dict(time_limit=0), ValueError, "time_limit"),
    "nan seconds": (dict(time_limit=float("nan")), ValueError, "time_limit"),
    "no chain": (dict(n_chains=0), ValueError, "n_chains"),
    "no thread": (dict(n_jobs=0), ValueError, "n_jobs"),
    "discount 0": (dict(discount=0.0), ValueError, "discount"),
    "discount above 1": (dict(discount=1.01), ValueError, "discount"),
    "nan discount": (dict(discount=float("nan")), ValueError, "discount"),
    "text discount": (dict(discount="none"), TypeError, "discount"),
    "decoys": (dict(decoys="copies"), ValueError, "decoys must be 'auto', 'shuffled'"),
    "true decoys": (dict(decoys=True), ValueError, "decoys must be 'auto', 'shuffled'"),
    "max_fdr": (dict(max_fdr=1.0), ValueError, "max_fdr"),
    "no max_fdr": (dict(max_fdr=np.nan), ValueError, "max_fdr"),
    "family": (dict(family="poisson"), ValueError, "family must be"),
    "no family": (dict(family=None), ValueError, "family must be"),
    "cost 1": (dict(cost=1.0), ValueError, "cost"),
    "costs of others": (dict(cost=np.full(P + 1, 0.5)), ValueError, "cost has shape"),
    "prior 0": (dict(prior=(0.0, 1.0)), ValueError, "prior"),
    "one prior": (dict(prior=1.0), ValueError, "pair"),
    "too many wanted": (dict(n_features_to_select=P + 1), ValueError, "12 arms"),
    "none wanted": (dict(n_features_to_select=0), ValueError, "n_features_to_select"),
    "unknown group": (dict(feature_groups={"g": ["nobody"]}), ValueError, "nobody"),
    "unknown column": (dict(always_include=[P]), ValueError, "always_include"),
    "all included": (dict(always_include=range(P)), ValueError, "nothing left"),
    "reward of no kind": (dict(reward=5), TypeError, "callable"),
    "bad reward": (dict(reward=PValueReward(alpha=2.0)), ValueError, "alpha"),
    "negative seed": (dict(random_state=-1), ValueError, "random_state"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_by_name(case, tmp_path):
    settings, error, match = BAD_SETTINGS[case]
    path = tmp_path / "run.journal"
    with pytest.raises(error, match=match):
        selector(**settings, journal=path).fit(*make_data())
    if "batch_size" not in settings:
        with pytest.raises(error, match=match):
            selector(**settings).partial_fit(*make_data())
    if "reward" not in case:
        assert not path.exists()


X0, Y0 = make_data(n=120)
BAD_DATA = {
    "nan in y": (X0, np.r_[Y0[:-1], np.nan], ValueError, "y has 1 missing .* row 119"),
    "short y": (X0, Y0[:-1], ValueError, "119 values but X has 120 rows"),
    "no y": (X0, None, ValueError, "y"),
    "two outcomes": (X0, np.c_[Y0, Y0], ValueError, "single column"),
    "text array": (np.full((120, 2), "a"), Y0, ValueError, "(?i)numeric"),
    "no column": (X0[:, :0], Y0, ValueError, "0 feature"),
    "one dimension": (Y0, Y0, ValueError, "2D array"),
    "complex": (X0 + 1j, Y0, ValueError, "Complex"),
    "infinite": (np.where(X0.max() == X0, np.inf, X0), Y0, ValueError, "infinity in column 'x"),
    "dates": (pd.DataFrame({"a": X0[:, 0], "d": pd.Timestamp(0)}), Y0, TypeError, "'d'"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_refused_clearly(case):
    X, y, error, match = BAD_DATA[case]
    with pytest.raises(error, match=match):
        selector().fit(X, y)


def test_an_infinite_value_is_refused_wherever_it_is_played():
    X, y = make_data()
    for row in (50, 450, 1450):
        bad = pd.DataFrame(X, columns=NAMES)
        bad.loc[row] = np.inf
        with pytest.raises(ValueError, match="infinity in column 'v"):
            selector().fit(bad, y)
