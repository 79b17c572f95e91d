"""``tvs select cells.h5ad`` and ``matrix.mtx``."""

import pytest

from tests.cli.makers import QUICK
from tests.sources.test_cells import annotated, counts, market

pytest.importorskip("anndata")


def names(found):
    return [variable["name"] for variable in found["selected"]]


def test_genes_of_an_anndata_file(answer, failure, here):
    import scipy.sparse as sp

    annotated(sp.csr_matrix(counts())).write_h5ad(here / "cells.h5ad")
    found = answer("select", "cells.h5ad", "-t", "type", "--covariates", "age", *QUICK)
    assert (names(found)[0], found["always"]) == ("gene3", ["age"])
    assert found["left_out"]["gene7"] == "constant (0 in every row)"
    assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
    answer("transform", found["run"], "cells.h5ad", "-o", "short.csv")
    line = failure("select", "cells.h5ad", "-t", "gene3", *QUICK)
    assert (
        "'gene3' is a column of cells.h5ad; the target is known of its rows: 'type', 'age'" in line
    )
    assert "its layers are: none" in failure(
        "select", "cells.h5ad", "-t", "type", "--layer", "raw", *QUICK
    )


def test_genes_of_a_matrix(answer, failure, here):
    market(here)
    options = ("matrix.mtx.gz", "--phenotype", "cells.csv", "-t", "type", *QUICK)
    found = answer("select", *options)
    assert (found["n_rows"], found["n_columns"]) == (120, 39)
    assert "name a table: --phenotype" in failure("select", "matrix.mtx.gz", "-t", "type", *QUICK)
