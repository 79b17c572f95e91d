from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tvstudy.datasets import load_madelon

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def test_the_folder_or_its_subfolder_will_do(tmp_path, monkeypatch):
    X = np.arange(2600 * 500, dtype=np.uint16).reshape(2600, 500)
    (tmp_path / "madelon").mkdir()
    savemat(tmp_path / "madelon" / "madelon.mat", {"X": X, "Y": np.ones((2600, 1))})
    for home in (tmp_path, tmp_path / "madelon"):
        np.testing.assert_array_equal(load_madelon(home).X, X)
    monkeypatch.setenv("TVSELECT_DATA", str(tmp_path))
    assert load_madelon().X.dtype == np.float64


def test_a_missing_file_and_another_table_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no .*madelon.mat"):
        load_madelon(tmp_path)
    savemat(tmp_path / "madelon.mat", {"X": np.eye(3), "Y": np.ones(3)})
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        load_madelon(tmp_path)
    savemat(tmp_path / "madelon.mat", {"Y": np.eye(3)})
    with pytest.raises(ValueError, match="is not the table Madelon"):
        load_madelon(tmp_path)
    (tmp_path / "madelon.mat").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not the table Madelon"):
        load_madelon(tmp_path)


def test_the_published_table():
    if not (SHARED / "madelon" / "madelon.mat").is_file():
        pytest.skip(f"madelon.mat is not in {SHARED / 'madelon'}")
    X, y, support = load_madelon(SHARED)
    assert X.shape == (2600, 500)
    assert np.unique(y).tolist() == [-1, 1]
    assert support.sum() == 20
    # The relevant columns span five dimensions.
    assert np.linalg.matrix_rank(np.corrcoef(X[:, support].T), tol=0.1) <= 6
