"""Agreement with the R package BART on data sets with recorded posterior summaries.

Law: the posterior means of sigma, of the first 20 fits, of the number of splits and of
the splits by variable agree within 4 combined standard errors (spread of chain means)
plus 2 % of the value (of the outcome's standard deviation for the fits).

R miscounts the prunable nodes when a tree of two leaves grows a third (see
``patched.AS_R_COUNTS`` and docs/trees.md), which costs it some splits: on two of the
data sets more than the tolerance. There the law holds for sigma and the fits, and for
everything when our sampler is made to miscount in the same way.

The recorded summaries are looked for in ``../shared/golden`` or in the folder named by
the environment variable TVSELECT_GOLDEN.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.exactness.patched import AS_R_COUNTS, patched_copy, run_with
from tvselect.inputs import read_outcome
from tvselect.trees import Prior, bin_table, start_chain, working_response

FOLDER = Path(os.environ.get("TVSELECT_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
FEWER_SPLITS_IN_R = ("binary_columns", "probit_plain")
NAMES = ("batch_sparse", "binary_columns", "friedman_plain", "friedman_sparse", "probit_plain")
needs_golden = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no recorded summaries of R in {FOLDER} (set TVSELECT_GOLDEN)"
)


def chain_means(X, y, golden, n_chains, n_burn, n_draws, every=10):
    """Means of one row per chain: sigma, splits, variable counts, fits."""
    table = bin_table(X)
    outcome = read_outcome(y, len(y))
    response = working_response(outcome, golden.get("sigest", "sd"))
    prior = Prior(n_trees=golden["n_trees"], sparse=golden["sparse"])
    seeds = np.random.SeedSequence(7).spawn(n_chains)
    rows = []
    for seed in seeds:
        chain = start_chain(
            table,
            response,
            prior,
            n_iterations=n_burn + n_draws,
            n_burn=n_burn,
            rng=np.random.default_rng(seed),
        )
        chain.advance(n_burn)
        fit = np.zeros(table.n_rows)
        for _ in range(n_draws // every):
            chain.advance(every)
            fit += chain.fitted()
        fit = fit / (n_draws // every) * response.scale + response.center
        sigma = response.scale * np.mean(chain.trace.precision[n_burn:] ** -0.5)
        splits = chain.trace.n_splits[n_burn:].mean()
        rows.append(np.concatenate([[sigma, splits], chain.averages()[0][:20], fit[:20]]))
    return np.array(rows)


def compare(name, n_chains, n_burn, n_draws):
    """By quantity: R, R's error, ours, our error, the gap that is allowed."""
    golden = json.loads((FOLDER / f"{name}.json").read_text())
    data = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)
    X, y = data[:, 1:], data[:, 0]
    rows = chain_means(X, y, golden, n_chains, n_burn, n_draws)
    ours, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(n_chains)
    k = min(20, X.shape[1])
    probit = golden["family"] == "probit"
    sigma = (1.0, 0.0) if probit else (golden["sigma_mean"], golden["sigma_mean_se"])
    theirs, their_error = (
        np.array([of_sigma, golden[splits], *golden[counts][:k], *golden[fits]])
        for of_sigma, splits, counts, fits in (
            (sigma[0], "splits_per_forest_mean", "variable_counts_mean", "fit_mean_first20"),
            (sigma[1], "splits_per_forest_se", "variable_counts_se", "fit_mean_se"),
        )
    )
    scale = np.abs(theirs)
    scale[2 + k :] = np.std(golden["fit_mean_first20"] if probit else y)
    allowed = 4 * np.hypot(error, their_error) + 0.02 * scale
    labels = ["sigma", "splits", *(f"splits on x{j + 1}" for j in range(k))]
    labels += [f"fit {i + 1}" for i in range(20)]
    columns = (theirs, their_error, ours, error, allowed)
    return dict(zip(labels, np.stack(columns, axis=1).tolist(), strict=True))


def gaps(name, result, *, splits_too):
    """Quantities that are off by more than is allowed."""
    return [
        f"{name}, {label}: R {theirs:.3f}, here {ours:.3f}, allowed {allowed:.3f}"
        for label, (theirs, _, ours, _, allowed) in result.items()
        if abs(ours - theirs) > allowed and (splits_too or not label.startswith("splits"))
    ]


def compare_as_r(folder, names, **size):
    """:func:`compare` with a sampler that counts prunable nodes as R does."""
    patched_copy(folder, AS_R_COUNTS)
    code = (
        "import json; from tests.exactness.test_golden import compare; "
        f"print(json.dumps([compare(name, **{size!r}) for name in {names!r}]))"
    )
    done = run_with(folder, "-c", code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_golden
@pytest.mark.parametrize("name", NAMES)
def test_posterior_means_agree_with_r(name):
    result = compare(name, n_chains=8, n_burn=2000, n_draws=4000)
    assert not gaps(name, result, splits_too=name not in FEWER_SPLITS_IN_R)


@pytest.mark.long
@needs_golden
def test_all_posterior_means_agree_when_prunable_nodes_are_counted_as_in_r(tmp_path):
    results = compare_as_r(tmp_path, FEWER_SPLITS_IN_R, n_chains=8, n_burn=2000, n_draws=4000)
    for name, result in zip(FEWER_SPLITS_IN_R, results, strict=True):
        assert not gaps(name, result, splits_too=True)


@needs_golden
@pytest.mark.long
def test_posterior_means_agree_with_r_at_full_size(tmp_path, record_result):
    size = dict(n_chains=40, n_burn=4000, n_draws=10_000)
    miscounting = compare_as_r(tmp_path, NAMES, **size)
    for name, as_r in zip(NAMES, miscounting, strict=True):
        exact = compare(name, **size)
        for way, result in (("exact", exact), ("counting as R", as_r)):
            said = ", ".join(
                f"{what} {ours:.4f} ± {error:.4f} (R {theirs:.4f} ± {their_error:.4f})"
                for what in ("sigma", "splits")
                for theirs, their_error, ours, error, _ in [result[what]]
            )
            off = {what: abs(v[2] - v[0]) / v[4] for what, v in result.items()}
            worst = max(off, key=off.get)
            found = f"{said}, largest gap {off[worst]:.0%} of what is allowed ({worst})"
            record_result("Agreement with R", f"{name}, {way}", found)
        assert not gaps(name, exact, splits_too=name not in FEWER_SPLITS_IN_R)
        assert not gaps(name, as_r, splits_too=True)
