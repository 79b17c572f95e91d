"""Alpha-investing: tests paid from a wealth that grows with every discovery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from sklearn.utils import check_scalar
from sklearn.utils.validation import validate_data

from tvselect.inputs import OutcomeReader
from tvselect.seeds import RandomState, as_generator
from tvstudy.baselines.base import Baseline, Floats, Mask

Bidding = Literal["streamwise", "recent"]

# Of its length, what a column must keep when the selected ones are taken out of it.
COLLINEAR = 1e-6
# Of its length, what is left of an outcome that the selected columns explain to the last bit.
EXPLAINED = 1e-12


@dataclass(frozen=True)
class Purse:
    """What an investor has: the state of a stream of tests.

    A test at level ``bid`` costs ``price`` and earns ``payout`` if it rejects. Both ways of
    bidding have ``E[wealth] = wealth at start - (1 - payout) E[false rejections]`` under the
    global null, so that there are at most ``wealth / (1 - payout)`` of these in the mean.

    Attributes
    ----------
    wealth, payout : float
    bidding : {"streamwise", "recent"}
    n_tests : int
        Tests so far.
    last_rejection : int
        Number of the last test that rejected, 0 when none has.

    Examples
    --------
    >>> from tvstudy.baselines.alpha_investing import Purse
    >>> purse = Purse(wealth=0.05, payout=0.05)
    >>> purse.bid
    0.025
    >>> purse.after(rejected=False)
    Purse(wealth=0.025, payout=0.05, bidding='streamwise', n_tests=1, last_rejection=0)
    """

    wealth: float
    payout: float
    bidding: Bidding = "streamwise"
    n_tests: int = 0
    last_rejection: int = 0

    @property
    def bid(self) -> float:
        """Level of the next test."""
        if self.bidding == "streamwise":
            return min(self.wealth / (2 * (self.n_tests + 1)), 1.0)
        stake = self._stake
        return stake / (1 + stake)

    @property
    def _stake(self) -> float:
        return self.wealth / (2 + self.n_tests - self.last_rejection)

    def after(self, rejected: bool) -> Purse:
        """The purse when the next test is done."""
        wealth = self.wealth + self.payout * rejected
        if self.bidding == "streamwise":
            wealth -= self.bid
        elif not rejected:
            wealth -= self._stake
        n_tests = self.n_tests + 1
        last = n_tests if rejected else self.last_rejection
        return replace(self, wealth=wealth, n_tests=n_tests, last_rejection=last)


class AlphaInvesting(Baseline):
    """Select columns by streamwise regression with alpha-investing.

    One column after the other is tested: the t-test of its coefficient in the regression of
    the outcome on an intercept, the columns selected so far and itself. A rejection selects
    the column for good and pays for more tests; any other test costs wealth.

    :meth:`fit` goes over the columns once, with all rows. :meth:`partial_fit` takes a batch
    of rows and goes over all columns that no earlier batch selected, with the p-values of
    this batch alone and what wealth the earlier batches left.

    Parameters
    ----------
    wealth : float in (0, 1), default=0.05
        Alpha-wealth at the start.
    payout : float in (0, 1), default=0.05
        What a rejection earns.
    bidding : {"streamwise", "recent"}, default="streamwise"
        Level of the ``i``-th test of the stream with wealth ``w``. "streamwise" [2]_ bids
        ``w / (2 i)`` and pays the bid always. "recent" [1]_ stakes
        ``b = w / (1 + i - k)``, ``k`` the last test that rejected (0 when none has), at level
        ``b / (1 + b)``, and loses the stake when the test does not reject.
    order : {"random", "given"}, default="random"
        In which order columns come. The first ones are tested at the largest levels, so
        that "given" needs a reason, such as a belief which columns matter. Random orders
        are drawn anew for each batch.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    wealth_ : float
        What is left.
    n_tests_, n_batches_ : int
        Tests and batches so far.

    Notes
    -----
    With p-values that are uniform under their null given the earlier tests, ``wealth = q``
    and ``payout = q`` keep the ratio of expected false rejections to one plus all expected
    rejections at or below ``q`` [1]_. Columns related to a signal that is not selected yet
    are not null in this sense.

    Two classes enter as 0 / 1: for the first column that is the two-sample t-test with a
    pooled variance. A column that follows from the selected ones, and any column when no
    degree of freedom is left, has p-value 1, and the test is paid for.

    Liu and Rockova [3]_ compare with alpha-investing on p-values of batches. The details
    are choices made here: the p-value is conditional on the selected columns (with fewer
    rows than columns in a batch there is no regression on all; tests of single columns
    select every column that shares a factor with a signal); a column once selected is
    tested no more; one that was not is tested again with each batch, as a new hypothesis;
    one purse serves the whole stream; levels, payout and order as above. In later rounds
    over resampled rows the p-values are no longer independent of the earlier ones.

    References
    ----------
    .. [1] Foster, D. P. and Stine, R. A. (2008). Alpha-investing: a procedure for sequential
       control of expected false discoveries. *JRSS B* 70(2), 429-444. The level
       ``b / (1 + b)`` is the one whose loss, ``level / (1 - level)``, is the stake.
    .. [2] Zhou, J., Foster, D. P., Stine, R. A. and Ungar, L. H. (2006). Streamwise feature
       selection. *JMLR* 7, 1861-1885.
    .. [3] Liu, Y. and Rockova, V. (2021). Variable selection via Thompson sampling. *JASA*.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import AlphaInvesting
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(2000, 30))
    >>> y = X[:, 3] - 2 * X[:, 7] + rng.normal(size=2000)
    >>> np.flatnonzero(AlphaInvesting(random_state=0).fit(X, y).support_)
    array([3, 7])
    >>> stream = AlphaInvesting(random_state=0)
    >>> for first in range(0, 2000, 200):
    ...     stream = stream.partial_fit(X[first : first + 200], y[first : first + 200])
    >>> np.flatnonzero(stream.support_), stream.n_batches_
    (array([3, 7]), 10)
    """

    takes_classes = True

    def __init__(
        self,
        wealth: float = 0.05,
        payout: float = 0.05,
        *,
        bidding: Bidding = "streamwise",
        order: Literal["random", "given"] = "random",
        random_state: RandomState = None,
    ) -> None:
        self.wealth = wealth
        self.payout = payout
        self.bidding = bidding
        self.order = order
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Test the columns not yet selected on a batch of rows, and go on from earlier ones.

        Parameters
        ----------
        X : array-like or data frame (rows, columns)
        y : array-like
            A batch with a constant outcome is counted and passed over.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_purse")
        X = validate_data(self, X, dtype=np.float64, reset=first)
        if first:
            self._begin(X.shape[1], as_generator(self.random_state))
            self._reader = OutcomeReader()
        outcome = self._reader.read(y, X.shape[0])
        self.classes_ = self._reader.classes
        self._hear(X, None if outcome is None else outcome.values)
        return self

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        self._begin(X.shape[1], rng)
        self._reader = OutcomeReader("gaussian" if self.classes_ is None else "auto", self.classes_)
        self._hear(X, y)
        return self.support_

    def _begin(self, n_columns: int, rng: np.random.Generator) -> None:
        for name in ("wealth", "payout"):
            check_scalar(
                getattr(self, name), name, Real, min_val=0.0, max_val=1.0,
                include_boundaries="neither",
            )  # fmt: skip
        for name, known in (("bidding", ("streamwise", "recent")), ("order", ("random", "given"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r}")
        self._purse = Purse(float(self.wealth), float(self.payout), self.bidding)
        self._rng = rng
        self.support_ = np.zeros(n_columns, dtype=np.bool_)
        self.n_batches_ = 0

    def _hear(self, X: Floats, y: Floats | None) -> None:
        if y is not None:
            n_columns = X.shape[1]
            shuffled = self.order == "random"
            order = self._rng.permutation(n_columns) if shuffled else np.arange(n_columns)
            self._purse, self.support_ = _sweep(X, y, order, self.support_, self._purse)
        self.n_batches_ += 1
        self.wealth_, self.n_tests_ = self._purse.wealth, self._purse.n_tests


def _sweep(
    X: Floats, y: Floats, order: NDArray[np.int64], selected: Mask, purse: Purse
) -> tuple[Purse, Mask]:
    """Test the columns that are not selected, in order; each given those selected before."""
    selected = selected.copy()
    regression = _Regression(X, y)
    for j in np.flatnonzero(selected):
        regression.condition(j)
    waiting = order[~selected[order]]
    while waiting.size:
        # Up to the next rejection all tests have the same conditioning columns.
        for place, p in enumerate(regression.p_values(waiting)):
            rejected = bool(p <= purse.bid)
            purse = purse.after(rejected)
            if rejected:
                selected[waiting[place]] = True
                regression.condition(waiting[place])
                break
        waiting = waiting[place + 1 :]
    return purse, selected


class _Regression:
    """Columns by row and outcome, with the intercept and the conditioning columns taken out."""

    def __init__(self, X: Floats, y: Floats) -> None:
        self._x = _unit_rows(X.T)
        self._y = _unit_rows(y[None])[0]
        self._dof = y.size - 2

    def condition(self, j: np.integer[Any]) -> None:
        length = np.linalg.norm(self._x[j])
        if length > COLLINEAR:
            self._dof -= 1
            basis = self._x[j] / length
            self._x -= np.outer(self._x @ basis, basis)
            self._y -= (self._y @ basis) * basis

    def p_values(self, columns: NDArray[np.int64]) -> Floats:
        x = self._x[columns]
        left = float(self._y @ self._y)
        if self._dof < 1 or left < EXPLAINED**2:
            return np.ones(columns.size)
        lengths = np.square(x).sum(axis=1)
        lengths[lengths < COLLINEAR**2] = np.inf
        # The squared partial correlation is Beta(1/2, dof/2) when there is no relation.
        squared = np.clip(np.square(x @ self._y) / (lengths * left), 0.0, 1.0)
        return np.asarray(betainc(self._dof / 2, 0.5, 1.0 - squared))


def _unit_rows(x: Floats) -> Floats:
    """Rows minus their mean, of length 1; exactly 0 where constant."""
    low = x.min(axis=1, keepdims=True)
    half_spread = x.max(axis=1, keepdims=True) / 2 - low / 2
    unit = np.ascontiguousarray((x / 2 - low / 2) / np.where(half_spread > 0.0, half_spread, 1.0))
    unit -= unit.mean(axis=1, keepdims=True)
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    return unit / np.where(length > 0.0, length, 1.0)
