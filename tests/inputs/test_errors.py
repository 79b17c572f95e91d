"""Numbers are refused as scikit-learn refuses them, and in its words."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import pytest
from sklearn.utils import check_scalar as of_sklearn

from tvselect.inputs.errors import check_scalar


def outcome(check, *arguments, **bounds):
    try:
        return check(*arguments, **bounds)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("include", ["both", "right", "neither"])
@pytest.mark.parametrize("kind", [Integral, Real])
@pytest.mark.parametrize("value", [0, 1, 3, 4, 1.0, 2.5, True, "2", None, np.int8(1), np.inf])
def test_same_as_scikit_learn(value, kind, include):
    bounds = dict(min_val=1, max_val=3, include_boundaries=include)
    expected = outcome(of_sklearn, value, "n", kind, **bounds)
    assert outcome(check_scalar, value, "n", kind, **bounds) == expected


def test_one_of_several_types():
    assert check_scalar(np.True_, "flag", (bool, np.bool_)) is np.True_
    with pytest.raises(TypeError, match="flag must be an instance of bool, not int"):
        check_scalar(1, "flag", (bool, np.bool_))
