import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tvstudy.baselines.hidimstat import Hidimstat


@pytest.fixture
def package(monkeypatch):
    """Stands for the package: selects the first column, with the sign of its effect."""
    seeds = []

    class Test:
        def __init__(self, estimator=None, random_state=None):
            seeds.append((type(estimator).__name__, random_state))

        def fit_importance(self, X, y):
            self.selected = np.eye(1, X.shape[1])[0] * -1

        def fdr_selection(self, fdr):
            return self.selected if fdr == 0.1 else 0 * self.selected

    monkeypatch.setitem(sys.modules, "hidimstat", SimpleNamespace(D0CRT=Test, ModelXKnockoff=Test))
    return seeds


def test_columns_with_an_effect_of_either_sign_are_selected_at_the_level(package):
    X, y = np.eye(3), [1.0, 2.0, 4.0]
    for test in ("crt", "knockoffs"):
        assert Hidimstat(test, random_state=0).fit(X, y).support_.tolist() == [True, False, False]
    assert not Hidimstat(q=0.05, random_state=0).fit(X, y).support_.any()
    assert [name for name, _ in package] == ["LassoCV", "NoneType", "LassoCV"]
    assert len({seed for _, seed in package}) == 1
    with pytest.raises(ValueError, match="test must be 'crt' or 'knockoffs'"):
        Hidimstat("crd").fit(X, y)


def test_the_package_itself_finds_a_strong_signal():
    pytest.importorskip("hidimstat")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    found = Hidimstat(random_state=0).fit(X, 5.0 * X[:, 2] + 0.1 * rng.standard_normal(60))
    assert found.support_[2]
