"""Compile the loops around the sampler that exactness is tested with."""

from __future__ import annotations

import numpy as np

from tests.exactness.chains import chain_shapes, chain_statistics, start
from tests.exactness.simulate import make_setting
from tests.exactness.test_geweke import z_scores


def compile_loops() -> None:
    setting = make_setting(n_rows=6, n_columns=1, n_values=3, n_trees=1, min_leaf=1)
    chain = start(setting, np.zeros(6), rng=np.random.default_rng(0), n_iterations=1)
    chain_statistics(chain, 1, 1)
    chain_shapes(chain, 1, 1, 600)
    z_scores("leaf means", "gaussian", 10)


if __name__ == "__main__":
    compile_loops()
