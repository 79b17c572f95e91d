"""AnnData files and matrices of 10x Genomics: what is read is what was written."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from tvselect import ThompsonSelector, select_anndata
from tvselect.inputs.errors import SourceError
from tvselect.sources import open_files

anndata = pytest.importorskip("anndata")
N, P = 120, 40


def counts(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (N, P)).astype(np.float32)
    X[: N // 2, 3] += rng.poisson(4, N // 2)
    X[:, 7] = 0
    return X


def annotated(matrix, **layers):
    obs = pd.DataFrame(
        {"type": pd.Categorical(np.repeat(["t", "b"], N // 2)), "age": np.arange(N) % 17},
        index=[f"cell{i}" for i in range(N)],
    )
    var = pd.DataFrame(index=[f"gene{j}" for j in range(P)])
    return anndata.AnnData(matrix, obs=obs, var=var, layers=layers)


FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_array}


@pytest.fixture(params=FORMS)
def path(request, tmp_path):
    X = counts()
    adata = annotated(FORMS[request.param](X), doubled=FORMS[request.param](2 * X))
    adata.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.mark.parametrize(("layer", "factor"), [(None, 1), ("doubled", 2)])
def test_the_file_holds_what_was_written(path, layer, factor):
    files = open_files(path, layer=layer)
    assert files.names == ["type", "age", *(f"gene{j}" for j in range(P))]
    places = np.array([3, 0, 39])
    assert_array_equal(files.file.read(places), factor * counts()[:, places])
    rows = np.array([119, 4])
    some = files.file.at(rows, places)
    assert_array_equal(some.read(np.array([1]), np.array([1])), factor * counts()[4:5, [0]])
    assert some.shape == (2, 3)
    again = pickle.loads(pickle.dumps(some))
    assert_array_equal(again.read(np.arange(3)), some.read(np.arange(3)))
    assert again.identity() == some.identity() != files.file.identity()
    low, high, n_missing = files.file.ranges()
    assert low[7] == high[7] == n_missing.sum() == 0
    read = files.read(["gene3", "type"])
    assert read.column("type").to_pylist()[0] == "t"
    assert_array_equal(read.column("gene3").to_numpy(), factor * counts()[:, 3])


def test_missing_and_infinite_values_are_found_and_genes_of_one_name_are_numbered(tmp_path):
    X = counts()
    X[4, 2], X[4, 9] = np.nan, np.inf
    for form in FORMS.values():
        adata = annotated(form(X))
        adata.var_names = ["A", "A", "A-1", *(f"g{j}" for j in range(3, P))]
        adata.write_h5ad(tmp_path / "cells.h5ad")
        files = open_files(tmp_path / "cells.h5ad")
        assert np.flatnonzero(files.file.ranges()[2]).tolist() == [2, 9]
        assert files.in_file[:3] == ["A", "A-2", "A-1"]


def test_genes_by_a_column_of_var(tmp_path):
    adata = annotated(counts())
    symbols, named = ["CD3E", "CD3E", None, *(f"S{j}" for j in range(3, P))], "CD3E CD3E-1 gene2 S3"
    adata.var["symbol"] = symbols
    adata.write_h5ad(path := tmp_path / "cells.h5ad")
    assert open_files(path, names="symbol").in_file[:4] == named.split()
    for kind in (object, "string"):
        adata.var["symbol"] = pd.array(symbols, dtype=kind)
        found = select_anndata(adata, "type", names="symbol", n_plays=5)
        assert found.feature_names_in_[:4].tolist() == named.split()
    with pytest.raises(SourceError, match=r"var has no column 'gene'; its columns are: 'symbol'"):
        open_files(path, names="gene")
    with pytest.raises(KeyError, match="var has no column 'gene'; it has symbol"):
        select_anndata(adata, "type", names="gene")


def test_a_layer_that_is_not_there_and_damaged_files(tmp_path):
    path = tmp_path / "cells.h5ad"
    annotated(counts(), doubled=counts()).write_h5ad(path)
    with pytest.raises(SourceError, match=r"no layers/raw; its layers are: 'doubled'"):
        open_files(path, layer="raw")
    for cut in (3000, 100, 0):
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(SourceError, match="cannot be read as AnnData"):
            open_files(path)


def market(folder, *, packed=True):
    """A folder as 10x Genomics write it."""
    names = ("matrix.mtx", "barcodes.tsv", "features.tsv")
    scipy.io.mmwrite(folder / "matrix.mtx", sp.coo_matrix(counts().T))
    (folder / "barcodes.tsv").write_text("".join(f"AC-{i}\n" for i in range(N)))
    genes = ["A", "A", *(f"G{j}" for j in range(2, P))]
    lines = (f"ENS{j}\t{name}\tGene Expression\n" for j, name in enumerate(genes))
    (folder / "features.tsv").write_text("".join(lines))
    table = pd.DataFrame({"barcode": [f"AC-{i}" for i in range(N)], "type": ["t", "b"] * (N // 2)})
    table["sample"] = "S1"
    table[::-1].to_csv(folder / "cells.csv", index=False)
    if packed:
        for name in names:
            (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
            (folder / name).unlink()
    return folder / ("matrix.mtx.gz" if packed else "matrix.mtx")


class TestMarket:
    @pytest.mark.parametrize("kind", ["packed", "blanks", "tabs"])
    def test_holds_what_was_written(self, tmp_path, kind):
        path = market(tmp_path, packed=kind == "packed")
        if kind == "tabs":
            head, _, entries = path.read_bytes().partition(b"40 120")
            path.write_bytes(head + b"40 120" + entries.replace(b" ", b"\t"))
        files = open_files(path, phenotypes=tmp_path / "cells.csv")
        assert files.names[:5] == ["type", "sample", "A", "A-1", "G2"]
        assert files.rows["type"].to_pylist()[:3] == ["t", "b", "t"]
        assert_array_equal(files.file.read(np.arange(P)), counts())

    def test_that_does_not_fit(self, tmp_path):
        path = market(tmp_path, packed=False)
        with pytest.raises(SourceError, match="has no data on the cells; name a table: phenoty"):
            open_files(path)
        lines = (tmp_path / "barcodes.tsv").read_text().splitlines()[1:]
        (tmp_path / "barcodes.tsv").write_text("\n".join(lines))
        files = open_files(path, phenotypes=tmp_path / "cells.csv")
        with pytest.raises(SourceError, match="do not belong together"):
            files.file.read(np.arange(2))
        (tmp_path / "features.tsv").unlink()
        with pytest.raises(FileNotFoundError, match=r"has no features\.tsv beside the matrix"):
            open_files(path, phenotypes=tmp_path / "cells.csv")

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (b"%%MatrixMarket matrix coordinate", b"%%MatrixMarket matrix", "Invalid MatrixMarket"),
            (b"real general", b"complex general", "cannot be read"),
            (b"40 120 ", b"40 119 ", "out of bounds|do not belong together"),
            (b"40 120 ", b"40 120 1", "Truncated file"),
            (b"40 120 ", b"x ", "Invalid integer"),
            (b"\n1 4 ", b"\n1 121 ", "out of bounds"),
            (b"\n1 4 ", b"\n-1 4 ", "out of bounds"),
        ],
    )
    def test_that_is_damaged(self, tmp_path, old, new, message):
        path = market(tmp_path, packed=False)
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new))
        with pytest.raises(SourceError, match=message):
            open_files(path, phenotypes=tmp_path / "cells.csv").file.read(np.arange(2))


class TestSelect:
    def fit(self, adata, **settings):
        return select_anndata(adata, "type", n_plays=40, random_state=0, **settings)

    def test_all_forms_agree_and_are_written_back(self, tmp_path):
        X = counts()
        plain = ThompsonSelector(n_plays=40, random_state=0)
        plain.fit(pd.DataFrame(X).add_prefix("gene"), annotated(X).obs["type"])
        sparse = None
        for name, form in FORMS.items():
            adata = annotated(form(X), raw=form(X))
            found = self.fit(adata)
            assert found.support_[3]
            assert adata.var["tvselect"].tolist() == found.support_.tolist()
            assert_array_equal(adata.var["tvselect_q_value"], found.q_values_)
            assert_array_equal(self.fit(adata, layer="raw").q_values_, found.q_values_)
            assert adata.uns["tvselect"]["layer"] == "raw"
            adata.write_h5ad(tmp_path / f"{name}.h5ad")
            backed = anndata.read_h5ad(tmp_path / f"{name}.h5ad", backed="r")
            assert_array_equal(self.fit(backed).selection_rates_, found.selection_rates_)
            if name == "dense":
                assert_array_equal(found.selection_rates_, plain.selection_rates_)
            else:
                sparse = sparse or found
                assert_array_equal(found.selection_rates_, sparse.selection_rates_)

    def test_cells_of_donors(self):
        adata = annotated(counts())
        adata.obs["donor"] = [f"d{k % 20}" for k in range(N)]
        adata.obs.loc[adata.obs.index[:10], "type"] = np.nan
        found = self.fit(adata, groups="donor", key_added="markers")
        assert found.result_.asked.n_groups == 20
        assert adata.uns["markers"]["groups"] == "donor"

    def test_covariates_are_part_of_every_play_and_cells_without_a_value_left_out(self):
        X = counts()
        for form in FORMS.values():
            adata = annotated(form(X))
            adata.obs["batch"] = pd.Categorical(["b1", "b2", "b3", "b2"] * (N // 4))
            adata.obs.loc[adata.obs.index[:10], "type"] = np.nan
            found = self.fit(adata, covariates=["batch", "age"], always_include=["gene1"])
            assert adata.var["tvselect"].tolist() == found.support_[:P].tolist()
            assert found.support_[3]
            assert not found.support_[4:P].any()
            behind = ["age", "batch_b1", "batch_b2", "batch_b3"]
            assert found.feature_names_in_[P:].tolist() == behind
            assert found.result_.layout.arm_of_feature[[1, *range(P, P + 4)]].max() == -1
            written = adata.uns["tvselect"]
            assert (written["covariates"], written["n_cells"]) == (["batch", "age"], N - 10)

    def test_slips(self):
        adata = annotated(counts())
        with pytest.raises(KeyError, match="obs has no column 'donor'; it has type, age"):
            select_anndata(adata, "type", groups="donor")
        with pytest.raises(KeyError, match="obs has no column 'batch'; it has type, age"):
            select_anndata(adata, "type", covariates=["age", "batch"])
        with pytest.raises(ValueError, match="covariates has 'type', which is what is to be"):
            select_anndata(adata, "type", covariates="type")
        with pytest.raises(KeyError, match="obs has no column 'cell_type'; it has type, age"):
            select_anndata(adata, "cell_type")
        with pytest.raises(KeyError, match="no layer 'raw'; there are none"):
            select_anndata(adata, "type", layer="raw")
        adata.X = None
        with pytest.raises(ValueError, match=r"adata\.X is empty; say layer="):
            select_anndata(adata, "type")

    def test_a_view_of_a_backed_object(self, tmp_path):
        annotated(counts()).write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        with pytest.raises(ValueError, match=r"use adata\.to_memory"):
            self.fit(backed[:, ["gene3", "gene4"]])
        found = self.fit(backed[:, ["gene3", "gene4"]].to_memory())
        assert found.support_.size == 2
