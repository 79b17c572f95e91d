"""Run the BART samplers of other packages, for speed comparisons.

Each ``*_run`` function does ``n_iterations`` Gibbs sweeps of plain BART with a Gaussian response,
one chain, on a numpy array, and returns the last draw. It is the fastest way found to ask the
package for just that through its public interface, with the package's own default priors: no
test-set prediction, no variance forest, no warm start, no stored draws but the last.

The packages are imported when first used. They are installed by the extra ``tvselect[bench]``.

Notes
-----
XLA (below bartz) uses one thread for each core in the affinity mask of the process; stochtree is
asked for one. At hundreds of points a second thread makes bartz slower; it helps a little at a
thousand points with the sparse prior. For a comparison on one core, and for timings that do not
depend on what runs on the others, start the process with ``taskset -c 0``.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

__all__ = ["Peer", "PeerFit", "bartz_peer", "bartz_run", "stochtree_peer", "stochtree_run"]


class PeerFit(NamedTuple):
    """The last draw of a run."""

    fitted: NDArray[np.floating]
    """Sum of the trees at the training points, in the units of `y`, shape ``(n,)``."""

    sigma: float
    """Standard deviation of the error, in the units of `y`."""

    n_iterations: int
    """Number of sweeps done, as counted by the sampler (or by its loop, for stochtree)."""

    state: Any
    """The forest (stochtree) or the whole MCMC state (bartz)."""


class Peer(NamedTuple):
    """A package to compare with."""

    name: str
    """Label for the tables."""

    version: str
    """Installed version of the package."""

    run: Callable[[NDArray[np.floating], NDArray[np.floating], int, int], PeerFit]
    """Callable with arguments ``(X, y, n_iterations, seed)``."""


def _require(module: str) -> ModuleType:
    """Import `module`, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = (
            f"the benchmarks against other packages need {error.name!r}, which is not installed: "
            "pip install 'tvselect[bench]'"
        )
        raise ModuleNotFoundError(message, name=error.name) from error


def _check_iterations(n_iterations: int) -> None:
    """Refuse a run without sweeps, which has no last draw."""
    if n_iterations < 1:
        message = f"n_iterations must be at least 1, got {n_iterations}"
        raise ValueError(message)


def stochtree_run(
    X: NDArray[np.floating],
    y: NDArray[np.floating],
    *,
    n_trees: int = 10,
    n_iterations: int,
    seed: int = 0,
) -> PeerFit:
    """Run the MCMC sampler of stochtree, single-threaded.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Predictors, all numeric.
    y : ndarray of shape (n,)
        Response.
    n_trees : int
        Number of trees.
    n_iterations : int
        Number of Gibbs sweeps (all trees, then the error variance).
    seed : int
        Seed of the random numbers.

    Returns
    -------
    PeerFit
        The last draw.

    Notes
    -----
    This uses the low-level sampling interface (``stochtree.ForestSampler`` and the classes around
    it), with the sequence of calls of ``stochtree.BARTModel.sample(num_gfr=0, num_mcmc=1,
    num_burnin=n_iterations - 1)``, whose draws it reproduces exactly for the same seed.
    ``BARTModel`` spends about 0.1 ms per predictor to find the type of each column, which is most
    of the time of a short run with thousands of predictors; here all columns are declared numeric.

    The settings are the defaults of ``BARTModel`` (standardised response, at least 5 points per
    leaf, at most 10 levels of splits, ``alpha=0.95``, ``beta=2``, leaf variance ``1 / n_trees``,
    improper prior on the error variance), but that the leaf variance is fixed instead of sampled.
    Cutpoints are drawn from a continuous range: there is no grid in its MCMC.
    """
    _check_iterations(n_iterations)
    st = _require("stochtree")
    n, p = X.shape
    mean, scale = y.mean(), y.std()

    dataset = st.Dataset()
    dataset.add_covariates(np.ascontiguousarray(X, dtype=np.float64))
    residual = st.Residual((y - mean) / scale)
    global_config = st.GlobalModelConfig(global_error_variance=1.0)
    forest_config = st.ForestModelConfig(
        num_trees=n_trees,
        num_features=p,
        num_observations=n,
        feature_types=np.zeros(p, dtype=int),
        sweep_update_indices=np.arange(n_trees),
        variable_weights=np.full(p, 1.0 / p),
        min_samples_leaf=5,
        max_depth=10,
        leaf_model_type=0,
        leaf_model_scale=np.array([[1.0 / n_trees]]),
    )
    sampler = st.ForestSampler(dataset, global_config, forest_config)
    draws = st.ForestContainer(n_trees, 1, True, False)
    forest = st.Forest(n_trees, 1, True, False)
    sampler.prepare_for_sampler(dataset, residual, forest, 0, np.zeros(1))
    variance_model = st.GlobalVarianceModel()
    rng = st.RNG(seed)

    sweeps = 0
    variance = 1.0
    for _ in range(n_iterations):
        sampler.sample_one_iteration(
            draws,
            forest,
            dataset,
            residual,
            rng,
            global_config,
            forest_config,
            keep_forest=False,
            gfr=False,
            num_threads=1,
        )
        variance = variance_model.sample_one_iteration(residual, rng, 0.0, 0.0)
        global_config.update_global_error_variance(variance)
        sweeps += 1

    return PeerFit(
        fitted=mean + scale * sampler.get_cached_forest_predictions(),
        sigma=float(scale * np.sqrt(variance)),
        n_iterations=sweeps,
        state=forest,
    )


@cache
def _bartz_kernel() -> Callable[..., tuple[Any, Any, Any]]:
    """Make the compiled function behind `bartz_run`, once per process."""
    # bartz goes first: it may have to set XLA flags before jax reads them
    mcmcstep = _require("bartz.mcmcstep")
    prepcovars = _require("bartz.prepcovars")
    jax = _require("jax")
    jnp = _require("jax.numpy")

    def kernel(
        X: Any,
        y: Any,
        seed: Any,
        n_iterations: Any,
        sparse_from: Any,
        *,
        n_trees: int,
        sparse: bool,
    ) -> tuple[Any, Any, Any]:
        # the priors of bartz.Bart
        predictors = X.T
        binner = prepcovars.RangeEvenBinner(predictors)
        variance = jnp.var(y)
        leaf_sdev = (jnp.max(y) - jnp.min(y)) / (4.0 * n_trees**0.5)
        dirichlet = {
            "a": 0.5,
            "b": 1.0,
            "rho": float(predictors.shape[0]),
            "sparse_on_at": sparse_from,
            "augment": False,
        }
        state = mcmcstep.init(
            X=binner.bin(predictors),
            y=y,
            offset=jnp.mean(y),
            max_split=binner.max_split,
            num_trees=n_trees,
            p_nonterminal=mcmcstep.make_p_nonterminal(6, 0.95, 2.0),
            leaf_prior_cov_inv=mcmcstep.Wishart(
                nu=None, rate=None, value=jnp.reciprocal(jnp.square(leaf_sdev))
            ),
            error_cov_inv=mcmcstep.Wishart.from_inv_wishart_marginal_nu(
                jnp.float32(3.0), 3.0 * variance, jnp.reciprocal(variance)
            ),
            min_points_per_decision_node=10,
            **(dirichlet if sparse else {}),
        )

        key = jax.random.key(seed)

        def sweep(i: Any, state: Any) -> Any:
            return mcmcstep.step(jax.random.fold_in(key, i), state)

        state = jax.lax.fori_loop(0, n_iterations, sweep, state)
        fitted = y - state.resid * state.resid_unit
        return fitted, jax.lax.rsqrt(state.error_cov_inv.value), state

    compiled: Callable[..., tuple[Any, Any, Any]] = jax.jit(
        kernel, static_argnames=("n_trees", "sparse")
    )
    return compiled


def bartz_run(
    X: NDArray[np.floating],
    y: NDArray[np.floating],
    *,
    n_trees: int = 10,
    n_iterations: int,
    sparse: bool = False,
    sparse_from: int = 0,
    seed: int = 0,
) -> PeerFit:
    """Run the MCMC sampler of bartz, on one CPU device.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Predictors, none of them constant. They are converted to 32 bits.
    y : ndarray of shape (n,)
        Response.
    n_trees : int
        Number of trees.
    n_iterations : int
        Number of Gibbs sweeps (all trees, the error variance, the splitting probabilities).
    sparse : bool
        Whether to use the Dirichlet prior on the splitting probabilities (DART), with its
        concentration sampled.
    sparse_from : int
        Sweep from which on the splitting probabilities are updated, if `sparse`. ``bartz.Bart``
        waits for half of the burn-in; here, by default, every sweep updates them.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    PeerFit
        The last draw.

    Notes
    -----
    This uses the low-level interface, ``bartz.mcmcstep.init`` and ``bartz.mcmcstep.step``, with
    the binning, the initialization and the loop of steps in a single ``jax.jit``. It is the same
    sampler as that of the high-level ``bartz.Bart``, which costs some 20 ms per call in separate
    dispatches to JAX before the first sweep, and writes each sweep to a trace.

    The compilation (several seconds) is reused in later calls with the same shape of `X`,
    `n_trees` and `sparse`, whatever `n_iterations`, `sparse_from`, `seed` and the values of the
    data: time the second call. The function returns when the computation is finished.

    The settings are the defaults of ``bartz.Bart`` (at most 6 levels of nodes, that is 5 of
    splits; at least 10 points to split a node and no minimum for a leaf; ``base=0.95``,
    ``power=2``, ``k=2``, ``sigma_df=3``), but for two, where a faster documented alternative is
    taken: 255 cutpoints evenly spaced in the range of each predictor (``RangeEvenBinner``) instead
    of its quantiles, which must be sorted; and, if `sparse`, the splitting probabilities updated
    without the augmentation for forbidden rules (``SparseConfig(augment=False)``), which is the
    default of the R package BART.
    """
    _check_iterations(n_iterations)
    kernel = _bartz_kernel()
    jax = _require("jax")
    data = (np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.float32))
    data = jax.device_put(data, jax.devices("cpu")[0])
    result = kernel(*data, seed, n_iterations, sparse_from, n_trees=n_trees, sparse=sparse)
    fitted, sigma, state = jax.block_until_ready(result)
    return PeerFit(
        fitted=np.asarray(fitted),
        sigma=float(sigma),
        n_iterations=int(state.config.steps_done),
        state=state,
    )


def stochtree_peer(n_trees: int = 10) -> Peer:
    """Describe stochtree as a `Peer`.

    Parameters
    ----------
    n_trees : int
        Number of trees.

    Returns
    -------
    Peer
        The package, with its sampler.
    """
    _require("stochtree")

    def run(
        X: NDArray[np.floating], y: NDArray[np.floating], n_iterations: int, seed: int
    ) -> PeerFit:
        return stochtree_run(X, y, n_trees=n_trees, n_iterations=n_iterations, seed=seed)

    return Peer("stochtree", metadata.version("stochtree"), run)


def bartz_peer(n_trees: int = 10, *, sparse: bool = False) -> Peer:
    """Describe bartz as a `Peer`.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    sparse : bool
        Whether to use the Dirichlet prior on the splitting probabilities.

    Returns
    -------
    Peer
        The package, with its sampler.
    """
    _require("bartz")

    def run(
        X: NDArray[np.floating], y: NDArray[np.floating], n_iterations: int, seed: int
    ) -> PeerFit:
        return bartz_run(X, y, n_trees=n_trees, n_iterations=n_iterations, sparse=sparse, seed=seed)

    name = "bartz (sparse)" if sparse else "bartz"
    return Peer(name, metadata.version("bartz"), run)
