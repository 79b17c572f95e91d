"""The prior of the forest and of the noise, as users state it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real

import numpy as np
from scipy.special import betainc, betaincinv, gammaincinv
from sklearn.utils import check_scalar

from tvselect.trees.response import Response
from tvselect.trees.state import MAX_DEPTH, Floats, Ints, PriorParameters

GRID_SIZE, TABLE_DEPTH = 1000, 64
NEVER = np.iinfo(np.int64).max
RATIOS = np.tan(np.pi * (np.arange(GRID_SIZE) + 0.5) / (2 * GRID_SIZE)) ** 2
"""Quantiles of the square of a half-Cauchy variable."""
NO_PAIRS: Ints = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Prior:
    """Prior of Bayesian additive regression trees; the defaults are those of the paper.

    Attributes
    ----------
    n_trees : int, default=10
    min_leaf : int, default=5
        No leaf may have fewer rows.
    base, power : float, default=0.95, 2.0
        A node at depth ``d`` splits with probability ``base * (1 + d) ** -power``.
    k : float, default=2.0
        Leaf means have standard deviation ``range(y) / (2 k sqrt(n_trees))``, and
        ``3 / (k sqrt(n_trees))`` for two classes and grades; with more classes
        ``n_trees`` is the number of trees of a class.
    noise_df : float, default=3.0
    noise_quantile : float, default=0.9
        ``sigma^2 ~ nu lambda / chi^2_nu`` with ``nu = noise_df`` and ``lambda`` such
        that ``sigma`` is below the noise scale of the response with this probability.
    sparse : bool, default=False
        Dirichlet prior on the splitting probabilities (DART) instead of uniform ones.
    a, b : float, default=0.5, 1.0
    rho : float or None
        ``theta / (theta + rho) ~ Beta(a, b)`` for DART's concentration ``theta``;
        None is the number of columns in play.
    theta_floor : float, default=0.001
        ``theta / (theta + rho)`` is never below this (R's grid ends there too). The
        higher it is, the more often a split tries a column that the forest does not use.
    pair_share : float, default=0.0
        Share, up to 0.9, of the proposals that add or remove two splits at once, one below the
        other. The posterior stays the same, but columns that matter only together are found
        sooner.
    latent_sweeps : int, default=1
        Iterations between two draws of the latent normals, for outcomes that have some. The
        posterior stays the same, and the draws take less time.

    Notes
    -----
    The joint law is written down in the documentation, "The prior that is sampled".

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import Prior, run_bart
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> prior = Prior(n_trees=5, sparse=True)
    >>> run = run_bart(X, X[:, 1], prior=prior, n_iterations=200, random_state=0)
    >>> int(run.mean_splits.argmax())
    1
    """

    n_trees: int = 10
    min_leaf: int = 5
    base: float = 0.95
    power: float = 2.0
    k: float = 2.0
    noise_df: float = 3.0
    noise_quantile: float = 0.9
    sparse: bool = False
    a: float = 0.5
    b: float = 1.0
    rho: float | None = None
    theta_floor: float = 0.001
    pair_share: float = 0.0
    latent_sweeps: int = 1

    def __post_init__(self) -> None:
        for name, most in (("n_trees", 10**6), ("min_leaf", 2**62), ("latent_sweeps", 10**6)):
            check_scalar(getattr(self, name), name, Integral, min_val=1, max_val=most)
        for name in ("base", "noise_quantile"):
            value = getattr(self, name)
            check_scalar(value, name, Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
        bounds: dict[str, tuple[float, float | None]]
        bounds = {"power": (0.0, None), "theta_floor": (0.0, 0.5), "pair_share": (0.0, 0.9)}
        bounds |= dict.fromkeys(("k", "noise_df", "a", "b", "rho"), (1e-6, 1e12))
        for name, (lowest, highest) in bounds.items():
            if name != "rho" or self.rho is not None:
                check_scalar(getattr(self, name), name, Real, min_val=lowest, max_val=highest)
        for name in ("base", "noise_quantile", *bounds):
            if not math.isfinite(value := getattr(self, name) or 0.0):
                raise ValueError(f"{name} == {value}, must be finite.")

    def leaf_sd(self, response: Response) -> float:
        """Prior standard deviation of a leaf mean, in the working units of ``response``."""
        spread = 3.0 if response.has_unit_noise else 0.5
        return spread / (float(self.k) * math.sqrt(self.n_trees / response.n_forests))

    def parameters(
        self,
        response: Response,
        column_weights: Floats | None = None,
        *,
        burn: int = 0,
        sparse_from: int = 0,
        free_noise: bool = True,
        pairs: Ints = NO_PAIRS,
    ) -> PriorParameters:
        """The prior in the core's numbers, for a ``response`` and the columns in play.

        The prior of a forest is multiplied by the weight, in (0, 1], of every column it uses
        (``column_weights``). Averages leave out ``burn`` iterations, the sparse prior begins at
        ``sparse_from``, and without ``free_noise`` the noise is fixed. ``pairs`` (pairs, 2) are
        columns that proposals of two splits try together.
        """
        if column_weights is None:
            column_weights = np.empty(0)
        quantile = 2.0 * float(gammaincinv(self.noise_df / 2.0, 1.0 - self.noise_quantile))
        rho_share = 1.0 if self.rho is None else self.rho / column_weights.size
        shares, log_shares = concentration_grid(self.a, self.b, rho_share, self.theta_floor)
        return PriorParameters(
            split_log_odds=split_log_odds(self.base, self.power),
            min_leaf=int(self.min_leaf),
            leaf_precision=self.leaf_sd(response) ** -2,
            noise_df=float(self.noise_df),
            noise_sum=response.noise_scale**2 * quantile,
            free_noise=free_noise and not response.has_unit_noise,
            latent=response.latent,
            cuts=response.cuts,
            burn=burn,
            sparse_from=sparse_from if self.sparse else NEVER,
            shares=shares,
            log_shares=log_shares,
            column_log_weights=np.log(column_weights),
            pair_share=float(self.pair_share),
            pairs=pairs,
            latent_sweeps=int(self.latent_sweeps),
            cut_steps=response.cut_steps,
            ratios=RATIOS,
        )


@lru_cache(maxsize=32)
def split_log_odds(base: float, power: float) -> Floats:
    """By depth: ``log(p_d (1 - p_{d+1})^2 / (1 - p_d))``, what one more split weighs."""
    depth = np.arange(MAX_DEPTH + 2)
    log_p = math.log(base) - power * np.log1p(depth)
    log_rest = np.log1p(-np.exp(log_p))
    return log_p[:-1] + 2.0 * log_rest[1:] - log_rest[:-1]


@lru_cache(maxsize=32)
def concentration_grid(a: float, b: float, rho_share: float, floor: float) -> tuple[Floats, Floats]:
    """Quantiles of DART's ``theta / q``, cut off below ``floor``, and ``log(theta / q + m)``."""
    cut = betainc(a, b, floor)
    steps = (np.arange(GRID_SIZE) + 0.5) / GRID_SIZE
    u = np.clip(betaincinv(a, b, cut + (1.0 - cut) * steps), 1e-100, 1.0 - 1e-12)
    shares = rho_share * u / (1.0 - u)
    return shares, np.log(shares[:, None] + np.arange(TABLE_DEPTH))
