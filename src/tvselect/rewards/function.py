"""A user's own reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.payoffs import check_payoffs


class FunctionReward(Reward):
    """The columns of a play scored by a function of one's own.

    Parameters
    ----------
    function : callable
        ``function(X, y, rng)``, with ``X`` a float array (rows, played columns), ``y`` the
        outcome (0 and 1 for the first and second class) and ``rng`` a numpy Generator:
        one value in [0, 1] for each column of ``X``. Fractions become 0 / 1 by a Bernoulli
        trial. Whatever is random in it must come from ``rng``, and it must not remember
        earlier plays; it may change its arguments, which are copies.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.rewards.base import Data
    >>> from tvselect.rewards.function import FunctionReward
    >>> def correlated(X, y, rng):
    ...     rows = rng.integers(len(y), size=len(y))
    ...     return [abs(np.corrcoef(x, y[rows])[0, 1]) > 0.5 for x in X[rows].T]
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> data = Data(X, read_outcome(y, 100), ("a", "b", "c", "d"))
    >>> FunctionReward(correlated).start(data)(np.array([1, 2, 3]), rng)
    array([0., 1., 0.])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        function = self.function
        if not callable(function):
            raise TypeError(f"function must be a callable (X, y, rng) -> values, got {function!r}")
        name = f"the reward function {getattr(function, '__name__', type(function).__name__)!r}"

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
            values = function(data.values(columns), data.outcome.values.copy(), rng)
            return check_payoffs(values, len(columns), what=name)

        return feedback
