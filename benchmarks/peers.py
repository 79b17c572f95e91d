"""The BART samplers of other packages, run for speed comparisons.

Two ways each: through the interface that its documentation shows, with its defaults, and
bare: the fastest way found to ask for just ``n_iterations`` sweeps of one chain. No test-set
prediction, no variance forest, no warm start, no stored draws but the last. All run on one
thread when the process is tied to one core.

The packages are imported when first used; the extra ``tvselect[bench]`` installs them.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray


def require(module: str) -> ModuleType:
    """Import a module, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the benchmarks need {error.name!r}, which is not installed: "
            "pip install 'tvselect[bench]'",
            name=error.name,
        ) from error


def stochtree_documented(
    X: NDArray[np.float64], y: NDArray[np.float64], *, n_trees: int, n_iterations: int, seed: int
) -> Any:
    """``stochtree.BARTModel.sample``: plain MCMC with its default priors."""
    model = require("stochtree").BARTModel()
    model.sample(
        X_train=X,
        y_train=y,
        num_gfr=0,
        num_burnin=n_iterations - 1,
        num_mcmc=1,
        general_params={"random_seed": seed, "num_threads": 1},
        mean_forest_params={"num_trees": n_trees},
    )
    return model


def bartz_documented(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    n_trees: int,
    n_iterations: int,
    sparse: bool,
    seed: int,
) -> Any:
    """``bartz.Bart``, one chain, with its default priors and quantile bins."""
    bartz = require("bartz")
    run = bartz.Bart(
        X.T,
        y.astype(np.float32),
        num_trees=n_trees,
        n_burn=n_iterations - 1,
        n_save=1,
        printevery=None,
        pbar=False,
        num_chains=None,
        devices="cpu",
        seed=seed,
        sparse=bartz.SparseConfig(enabled=sparse),
    )
    return require("jax").block_until_ready(run)


def stochtree_bare(
    X: NDArray[np.float64], y: NDArray[np.float64], *, n_trees: int, n_iterations: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The low-level classes of stochtree in the order in which ``BARTModel.sample`` calls them.

    Without its look at the type of each column (0.1 ms a column) and with a fixed leaf
    variance; for the same seed the draws are otherwise those of ``BARTModel``. Returns the
    fitted values and the split counts of the last draw.
    """
    st = require("stochtree")
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

    fitted = mean + scale * sampler.get_cached_forest_predictions()
    return fitted, np.asarray(forest.get_overall_split_counts(p))


@cache
def _bartz_kernel() -> Callable[..., Any]:
    """The compiled function behind :func:`bartz_bare`, made once per process."""
    # bartz goes first: it may have to set XLA flags before jax reads them
    mcmcstep = require("bartz.mcmcstep")
    prepcovars = require("bartz.prepcovars")
    jax = require("jax")
    jnp = require("jax.numpy")

    def kernel(X: Any, y: Any, seed: Any, n_iterations: Any, *, n_trees: int, sparse: bool) -> Any:
        # The priors of bartz.Bart
        predictors = X.T
        binner = prepcovars.RangeEvenBinner(predictors)
        variance = jnp.var(y)
        leaf_sdev = (jnp.max(y) - jnp.min(y)) / (4.0 * n_trees**0.5)
        dirichlet = {
            "a": 0.5,
            "b": 1.0,
            "rho": float(predictors.shape[0]),
            "sparse_on_at": 0,
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
        return y - state.resid * state.resid_unit

    compiled: Callable[..., Any] = jax.jit(kernel, static_argnames=("n_trees", "sparse"))
    return compiled


def bartz_bare(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    n_trees: int,
    n_iterations: int,
    sparse: bool,
    seed: int,
) -> NDArray[np.float32]:
    """``bartz.mcmcstep`` in one compiled loop, binning and start included.

    The settings of ``bartz.Bart`` but for two faster ones: 255 evenly spaced cut points
    instead of quantiles, and, if sparse, no augmentation for forbidden rules (as in R). The
    compilation is used again for the same shape, whatever the number of iterations. Returns
    the fitted values of the last draw.
    """
    kernel = _bartz_kernel()
    jax = require("jax")
    data = (np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.float32))
    data = jax.device_put(data, jax.devices("cpu")[0])
    fitted = kernel(*data, seed, n_iterations, n_trees=n_trees, sparse=sparse)
    return np.asarray(jax.block_until_ready(fitted))
