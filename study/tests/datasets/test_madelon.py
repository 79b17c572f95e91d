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
    savemat(tmp_path / "madelon" / "madelon.mat", {"X": X})
    for home in (tmp_path, tmp_path / "madelon"):
        np.testing.assert_array_equal(load_madelon(home), X)
    monkeypatch.setenv("TVSELECT_DATA", str(tmp_path))
    assert load_madelon().dtype == np.float64


def test_a_missing_file_and_another_table_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no .*madelon.mat"):
        load_madelon(tmp_path)
    savemat(tmp_path / "madelon.mat", {"X": np.eye(3)})
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
    X = load_madelon(SHARED)
    assert X.shape == (2600, 500)
    # Columns 29 and 49, counted from 1, are among the twenty that span five dimensions.
    assert np.linalg.matrix_rank(np.corrcoef(X[:, [28, 48, 64, 105, 128, 153]].T), tol=0.05) < 6
