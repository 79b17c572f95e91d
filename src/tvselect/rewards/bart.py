"""The reward of the paper: a short run of Bayesian regression trees on the played columns."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from sklearn.utils import check_scalar

from tvselect.inputs import Outcome
from tvselect.inputs.columns import normal_scores
from tvselect.inputs.errors import check_share
from tvselect.inputs.outcome import has_outliers, normal_times
from tvselect.rewards.bart_play import BartFeedback, Rules
from tvselect.rewards.base import Data, Reward
from tvselect.rewards.screening import marginal_evidence
from tvselect.trees import Prior, working_response
from tvselect.trees.state import NO_GROUPS

TREES_A_SPLIT = 16
TREES_OF_A_CLASS = 5

Noise = Literal["auto", "normal", "scores"]


@dataclass(eq=False, repr=False)
class BartReward(Reward):
    """Reward a column on which the forest splits.

    Parameters
    ----------
    n_trees : int, default=40
        More for many rows, see ``max_samples``, and at least five for each of several classes.
    n_iterations : int, default=500
        Iterations of a play, M in the paper; more where ``proposals_per_column`` asks for it.
    n_burn : int, optional
        Iterations that the average rule leaves out; half of all by default.
    sparse : bool, default=True
        Dirichlet prior on the splitting probabilities (DART).
    rule : {"average", "last"}, default="average"
        "average" gives 1 for at least ``min_splits`` splits per forest on average after
        burn-in; "last" gives 1 when the last forest splits on the column.
    min_splits : float, optional
        One for every 16 trees by default.
    proposals_per_column : float, default=12.0
        At least ``2 proposals_per_column q / n_trees`` iterations when ``q`` columns are
        played, so that each is proposed about that many times. 0 keeps ``n_iterations``.
    theta_floor : float, default=0.01
        Lowest concentration of the sparse prior, see :class:`tvselect.trees.Prior`.
    penalty : float, default=1.0
        The prior of a forest is multiplied by ``(played / all columns) ** penalty`` for every
        column it uses: with 1, a column of a small play has to explain as much as in a play of
        the whole table, which allows more trees. With 0 columns not played do not count.
    screening : bool, default=True
        The log penalty of a column is reduced by the evidence of its correlation with the
        outcome, ``-log(all columns * p-value)``.
    shadows : int, default=30
        A play of fewer columns is filled up with shadows: copies of its columns, each with its
        rows shuffled. The average rule then rewards only what is split on more often than nine
        in ten of them, so that a few columns of noise among themselves are not rewarded.
    pair_share : float, default=0.2
        Share of the proposals that add or remove two splits at once, if pairs of columns are
        found whose product is correlated with the outcome; these are played together. 0 looks
        for no pairs.
    latent_sweeps : int, default=5
        Iterations between two draws of the latent normals, for outcomes that have some:
        classes, grades, counts, censored times. It saves time; the chain stays exact.
    noise : {"auto", "normal", "scores"}, default="auto"
        "normal" noise, or the outcome replaced by normal "scores": normal quantiles of its
        ranks, which limit the influence of outliers. "auto" takes the scores for a continuous
        outcome, or the log of survival times, with a value more than five robust standard
        deviations away from its median.
    max_samples : "auto", int, float or None, default="auto"
        Rows of a play, drawn anew without replacement: a number, a share, None for all.
        "auto" is all rows of a batch of a stream; of a table at most 5,000 rows in a search
        with decoys and 2,000 without (more if one class is rare, so that it has about 100 rows;
        fewer with six and more classes). Without decoys the number of trees grows in proportion
        above 5,000 rows: too few trees fit many rows too coarsely, and columns of noise are
        rewarded for the remainder.
    min_leaf, max_cuts : int, default=5, 100
    alpha, beta, k, nu, q : float, default=0.95, 2.0, 2.0, 3.0, 0.9
        Of the prior of trees, leaf means and noise, see :func:`tvselect.run_bart`.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.rewards import BartReward
    >>> from tvselect.rewards.base import Data
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 50))
    >>> y = 10 * (X[:, 3] > 0.5) + rng.standard_normal(200)
    >>> data = Data(X, read_outcome(y, 200), tuple(f"x{j}" for j in range(50)))
    >>> feedback = BartReward().start(data)
    >>> plays = [feedback(np.array([1, 3, 7]), np.random.default_rng(k)) for k in range(20)]
    >>> np.mean(plays, axis=0) > 0.5
    array([False,  True, False])
    """

    takes_missing = True
    takes_weights = False
    rewards_stand_ins = False
    families = ("gaussian", "probit", "classes", "ordinal", "counts", "survival")

    n_trees: int = 40
    n_iterations: int = 500
    n_burn: int | None = None
    sparse: bool = True
    rule: Literal["average", "last"] = "average"
    min_splits: float | None = None
    proposals_per_column: float = 12.0
    theta_floor: float = 0.01
    penalty: float = 1.0
    screening: bool = True
    shadows: int = 30
    pair_share: float = 0.2
    latent_sweeps: int = 5
    noise: Noise = "auto"
    max_samples: Literal["auto"] | int | float | None = "auto"
    min_leaf: int = 5
    max_cuts: int = 100
    alpha: float = 0.95
    beta: float = 2.0
    k: float = 2.0
    nu: float = 3.0
    q: float = 0.9

    @classmethod
    def paper(
        cls, n_iterations: int = 1000, *, n_burn: int = 100, sparse: bool = False
    ) -> BartReward:
        """The rule of the paper: the last of ``n_iterations`` forests, whatever is played.

        They come after ``n_burn`` others, as the R function ``wbart`` counts them. The
        prior is the plain one, as the paper states it, unless ``sparse`` is true.
        """
        check_scalar(n_iterations, "n_iterations", Integral, min_val=1)
        check_scalar(n_burn, "n_burn", Integral, min_val=0)
        return cls(
            n_trees=10,
            n_iterations=n_iterations + n_burn,
            n_burn=n_burn,
            sparse=sparse,
            rule="last",
            proposals_per_column=0.0,
            theta_floor=0.001,
            penalty=0.0,
            shadows=0,
            pair_share=0.0,
            latent_sweeps=1,
            noise="normal",
            max_samples=None,
        )

    @classmethod
    def with_decoys(cls) -> BartReward:
        """The rule with decoys, which control false selections: half the penalty is enough."""
        return cls(n_trees=30, min_splits=1.5, penalty=0.5)

    @property
    def min_rows(self) -> int:  # type: ignore[override]
        """Rows of two smallest leaves."""
        return 2 * self.min_leaf

    def settled(self, data: Data) -> Self:
        """Itself with the rows, trees and noise that suit ``data``, in place of "auto"."""
        self._check()
        n_seen = rows_seen(self.max_samples, data)
        if n_seen < self.min_rows:
            worth = "" if data.n_effective is None else ", which is what the weights are worth"
            raise ValueError(
                f"a play sees {n_seen} rows{worth}, but a split needs two leaves of at least "
                f"min_leaf={self.min_leaf} rows each"
            )
        growth = 1.0
        if data.outcome.family == "classes":
            fewest = TREES_OF_A_CLASS * np.unique(data.outcome.values).size
            growth = max(growth, fewest / self.n_trees)
        if self.max_samples == "auto" and data.decoys is None:
            # What too few leaves cannot fit is credited to columns of noise, more often the more
            # rows there are; with decoys that does no harm.
            growth = max(growth, n_seen / 5000)
        settled = copy(self)  # a subclass may have parameters of its own
        settled.n_trees = round(growth * self.n_trees)
        settled.min_splits = growth * self._enough_splits
        settled.noise = settle_noise(self.noise, data.outcome)
        settled.max_samples = n_seen
        return settled

    def start(self, data: Data) -> BartFeedback:
        """Bin the table of ``data`` once; every play then runs on column indices."""
        self = self.settled(data)
        outcome = outcome_for(self.noise, data.outcome)
        table = data.binned(self.max_cuts)
        response = working_response(outcome)
        n_candidates = data.n_candidates or table.n_columns
        groups = NO_GROUPS if data.groups is None else data.groups
        evidence = np.zeros(table.n_columns)
        if self.screening and self.penalty > 0:
            evidence = marginal_evidence(
                table, outcome, n_candidates, data.starts, data.bulks, groups
            )
        return BartFeedback(
            table=table.design(np.empty(0, dtype=np.int64)),
            observed=response.observed,
            prior=self._prior.parameters(response, pairs=data.pairs),
            precision=response.precision,
            evidence=evidence,
            groups=groups,
            by_group=np.argsort(groups, kind="stable"),
            rules=Rules(
                n_candidates=n_candidates,
                n_seen=rows_seen(self.max_samples, data),
                n_forests=response.n_forests,
                last_forest=self.rule == "last",
                n_trees=int(self.n_trees),
                n_iterations=int(self.n_iterations),
                n_burn=-1 if self.n_burn is None else int(self.n_burn),
                proposals_per_column=float(self.proposals_per_column),
                penalty=float(self.penalty),
                shadows=int(self.shadows),
                min_splits=float(self._enough_splits),
            ),
        )

    @property
    def _enough_splits(self) -> float:
        return self.n_trees / TREES_A_SPLIT if self.min_splits is None else self.min_splits

    @property
    def _prior(self) -> Prior:
        return Prior(
            n_trees=self.n_trees,
            sparse=bool(self.sparse),
            min_leaf=self.min_leaf,
            base=self.alpha,
            power=self.beta,
            k=self.k,
            noise_df=self.nu,
            noise_quantile=self.q,
            theta_floor=self.theta_floor,
            pair_share=self.pair_share,
            latent_sweeps=self.latent_sweeps,
        )

    def _check(self) -> None:
        _ = self._prior
        check_scalar(self.n_iterations, "n_iterations", Integral, min_val=1)
        if self.n_burn is not None:
            check_scalar(self.n_burn, "n_burn", Integral, min_val=0, max_val=self.n_iterations - 1)
        proposals, splits = self.proposals_per_column, self._enough_splits
        check_scalar(proposals, "proposals_per_column", Real, min_val=0.0, max_val=1e6)
        check_scalar(self.penalty, "penalty", Real, min_val=0.0, max_val=10.0)
        check_scalar(self.screening, "screening", (bool, np.bool_))
        check_scalar(self.shadows, "shadows", Integral, min_val=0, max_val=10_000)
        check_scalar(splits, "min_splits", Real, min_val=0.0, include_boundaries="neither")
        if np.isnan([proposals, self.penalty, splits]).any():
            raise ValueError(
                "proposals_per_column, penalty and min_splits must be numbers, got nan"
            )
        if self.rule not in ("average", "last"):
            raise ValueError(f"rule must be 'average' or 'last', got {self.rule!r}")


def rows_seen(max_samples: Literal["auto"] | int | float | None, data: Data) -> int:
    """How many rows a play sees."""
    n_rows = data.n_effective or data.n_rows
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, str):
        if max_samples != "auto":
            raise ValueError(f"max_samples must be 'auto', a number or None, got {max_samples!r}")
        if data.is_batch:
            return n_rows
        most = 2000 if data.decoys is None else 5000
        if data.outcome.family == "classes":  # every class sees them
            most //= max(1, np.unique(data.outcome.values).size // 3)
        return min(n_rows, max(most, ceil(100 / _share_of_rarest(data.outcome))))
    if isinstance(max_samples, Integral):
        check_scalar(max_samples, "max_samples", Integral, min_val=2)
        return min(int(max_samples), n_rows)
    check_share(max_samples, "max_samples", "right")
    return max(2, round(float(max_samples) * n_rows))


def _share_of_rarest(outcome: Outcome) -> float:
    """Share of the rows in the smallest class, or of those with an event; 1 for numbers."""
    if outcome.family == "survival":
        return float(np.isfinite(outcome.times.upper).mean())
    if outcome.classes is None:
        return 1.0
    counts = np.bincount(outcome.values.astype(np.intp))
    return float(counts[counts > 0].min() / outcome.values.size)


def settle_noise(noise: Noise, outcome: Outcome) -> Literal["normal", "scores"]:
    """Normal noise, or normal scores for a continuous outcome with values far out."""
    if noise not in ("auto", "normal", "scores"):
        raise ValueError(f"noise must be 'auto', 'normal' or 'scores', got {noise!r}")
    if outcome.family not in ("gaussian", "survival"):
        return "normal"
    if noise == "auto":
        known = outcome.values[np.isfinite(outcome.values)]
        return "scores" if has_outliers(known) else "normal"
    return noise


def outcome_for(noise: Noise, outcome: Outcome) -> Outcome:
    """The outcome, on normal scores where the noise asks for them."""
    if settle_noise(noise, outcome) == "normal":
        return outcome
    if outcome.family == "survival":
        times = normal_times(outcome.times)
        return replace(outcome, values=times.lower, upper=times.upper)
    return replace(outcome, values=normal_scores(outcome.values))
