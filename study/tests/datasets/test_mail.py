from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tvstudy.datasets import load_direct_mail

FILE = (
    Path(__file__).resolve().parents[4] / "shared" / "data" / "charity_mail" / "charity_mail.csv.gz"
)
ROWS = 50_083
# 58 columns of the file: 3 outcomes, the mail indicator, 9 variants of the letter, the covariates.
LETTER = 9
COVARIATES = 45
SMALL = """\
treatment,treat_ratio2,out_gavedum,out_amountgive,hpa,female
1,0,1,25,100,-999
0,0,0,0,-999,1
1,1,0,0,50.5,0
"""


@pytest.fixture(scope="module")
def mail():
    if not FILE.is_file():
        pytest.skip(f"{FILE} is not there")
    return load_direct_mail(FILE)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text(SMALL)
    return path


def test_every_household_and_every_interaction_is_there(mail):
    assert mail.data.shape == (ROWS, 1 + LETTER + 2 * COVARIATES)
    assert mail.feature_names == list(mail.data.columns)
    assert mail.target.shape == (ROWS,)
    assert set(np.unique(mail.target)) == {0, 1}
    assert mail.target.mean() == pytest.approx(0.021, abs=0.0005)
    assert mail.data["treatment"].mean() == pytest.approx(2 / 3, abs=0.001)


def test_without_interactions_the_columns_are_those_of_the_file(mail):
    plain = load_direct_mail(FILE, interactions=False)
    assert plain.data.shape == (ROWS, 1 + LETTER + COVARIATES)
    pd.testing.assert_frame_equal(plain.data, mail.data[plain.feature_names])


def test_no_outcome_is_among_the_variables(mail):
    assert not [name for name in mail.feature_names if "out_" in name]


def test_minus_999_is_missing_in_the_file(mail):
    with gzip.open(FILE, "rt") as stream:
        raw = pd.read_csv(stream)
    assert (raw == -999).to_numpy().any()
    assert not (mail.data == -999).to_numpy().any()
    for name in raw.columns.intersection(mail.data.columns):
        assert mail.data[name].isna().sum() == ((raw[name] == -999) | raw[name].isna()).sum()


def test_a_small_file_by_hand(small):
    mail = load_direct_mail(small)
    wanted = {
        "treatment": [1.0, 0.0, 1.0],
        "treat_ratio2": [0.0, 0.0, 1.0],
        "hpa": [100.0, np.nan, 50.5],
        "female": [np.nan, 1.0, 0.0],
        "mail x hpa": [100.0, np.nan, 50.5],
        "mail x female": [np.nan, 0.0, 0.0],
    }
    pd.testing.assert_frame_equal(mail.data, pd.DataFrame(wanted))
    assert mail.target.tolist() == [1, 0, 0]
    assert load_direct_mail(str(small), interactions=False).feature_names == list(wanted)[:4]


@pytest.mark.parametrize("column", ["treatment", "out_gavedum"])
def test_another_file_is_refused(small, column):
    small.write_text(SMALL.replace(column, "other"))
    with pytest.raises(ValueError, match=rf"mail\.csv has no column '{column}'"):
        load_direct_mail(small)


def test_a_file_that_is_not_there_is_an_oserror(tmp_path):
    with pytest.raises(OSError, match=r"none\.csv"):
        load_direct_mail(tmp_path / "none.csv")
