"""What an installed tvselect must be able to do; ``release.build`` runs this in fresh environments.

``python -I release/smoke.py`` runs it by hand, where the wheel, its extra ``cli`` and pandas are.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import tvselect
from tvselect import StreamingThompsonSelector, ThompsonSelector
from tvselect.report import write_report

SIGNALS = ["x3", "x7"]
Floats = NDArray[np.float64]


def made_up(n_rows: int) -> tuple[Floats, Floats]:
    """Twenty columns, of which x3 and x7 matter."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 20))
    return X, 8 * X[:, 3] + 6 * (X[:, 7] > 0.5) + rng.standard_normal(n_rows)


def as_frame(X: Floats) -> pd.DataFrame:
    """The columns by name."""
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def selector() -> ThompsonSelector:
    """One that is quick."""
    return ThompsonSelector(n_plays=100, random_state=0)


def check_origin() -> None:
    """The package is that of the environment, not of a source tree."""
    assert Path(tvselect.__file__).is_relative_to(sys.prefix), tvselect.__file__


def check_array() -> None:
    """Arrays; columns are named by number."""
    X, y = made_up(200)
    fitted = selector().fit(X, y)
    assert list(fitted.get_feature_names_out()) == SIGNALS
    assert fitted.transform(X).shape == (200, 2)


def check_frame() -> None:
    """Data frames come out as data frames."""
    X, y = made_up(200)
    fitted = selector().set_output(transform="pandas").fit(as_frame(X), pd.Series(y))
    assert list(fitted.transform(as_frame(X)).columns) == SIGNALS


def check_two_classes() -> None:
    """Labels as the outcome."""
    X, y = made_up(400)
    fitted = selector().fit(X, np.where(y > np.median(y), "high", "low"))
    assert list(fitted.get_feature_names_out()) == SIGNALS


def check_stream() -> None:
    """A Parquet file, batch by batch."""
    X, y = made_up(6_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        as_frame(X).assign(y=y).to_parquet(path)
        fitted = StreamingThompsonSelector(batch_size=100, random_state=0).fit_source(path, "y")
    assert list(fitted.get_feature_names_out()) == SIGNALS


def check_pipeline() -> None:
    """A step of a scikit-learn pipeline."""
    X, y = made_up(200)
    fitted = make_pipeline(selector(), LinearRegression()).fit(X, y)
    assert fitted.score(X, y) > 0.7
    assert fitted[-1].coef_.shape == (2,)


def check_report() -> None:
    """One page, with the columns that were found."""
    X, y = made_up(200)
    with tempfile.TemporaryDirectory() as folder:
        path = write_report(selector().fit(as_frame(X), y), Path(folder) / "report.html", X, y)
        text = path.read_text(encoding="utf-8")
    assert all(name in text for name in SIGNALS)


def check_pickle() -> None:
    """A fitted selector comes back as it was."""
    X, y = made_up(200)
    fitted = selector().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(again.q_values_, fitted.q_values_)


CHECKS = (
    check_origin,
    check_array,
    check_frame,
    check_two_classes,
    check_stream,
    check_pipeline,
    check_report,
    check_pickle,
)

if __name__ == "__main__":
    for check in CHECKS:
        check()
        print(f"{check.__name__}: passed", flush=True)
