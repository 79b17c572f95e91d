"""Cells and genes: AnnData (.h5ad) and the matrices of 10x Genomics (.mtx)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import tvselect
from tvselect.inputs import Table
from tvselect.inputs.arrow import arrow_errors, load, unpack
from tvselect.inputs.columns import (
    ColumnFile,
    Matrix,
    SparseColumns,
    at_rows,
    in_blocks,
    is_sparse,
    within,
)
from tvselect.inputs.errors import SourceError
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.table import read_features
from tvselect.omics import StoredColumns
from tvselect.omics.isolated import DENSE, ROWS, SPARSE, ask


def select_anndata(
    adata: Any,
    target: str,
    *,
    covariates: Sequence[str] = (),
    groups: str | None = None,
    layer: str | None = None,
    names: str | None = None,
    key_added: str = "tvselect",
    **settings: Any,
) -> tvselect.ThompsonSelector:
    """Select the genes of an AnnData object that explain a column of ``obs``.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells by genes, dense or sparse, in memory or backed.
    target : str
        A column of ``adata.obs``: labels, numbers, grades; cells without a value are left out.
    covariates : sequence of str, optional
        Columns of ``adata.obs`` that are part of every play, such as a batch or an age, with a 0/1
        column for each category. What was found holds them behind the genes.
    groups : str, optional
        A column of ``adata.obs`` that says which cells belong together, such as the donor's: see
        :meth:`tvselect.ThompsonSelector.fit`.
    layer : str, optional
        Where the numbers are; ``adata.X`` by default.
    names : str, optional
        The column of ``adata.var`` with the names of the genes, such as their symbols;
        ``adata.var_names`` by default. Repeated ones are numbered.
    key_added : str, default="tvselect"
        ``adata.var`` gets the columns ``key_added`` (whether a gene is selected),
        ``key_added + "_q_value"`` and ``key_added + "_selection_rate"``; ``adata.uns[key_added]``
        says how it was done.
    **settings
        Of :class:`tvselect.ThompsonSelector`.

    Returns
    -------
    ThompsonSelector
        Fitted.

    Raises
    ------
    KeyError
        When ``obs`` or ``var`` has no such column, or there is no such layer.

    Examples
    --------
    >>> from tvselect import select_anndata
    >>> select_anndata(adata, "type", random_state=0)  # doctest: +SKIP
    >>> adata.var[adata.var["tvselect"]]  # doctest: +SKIP
    """
    covariates = [covariates] if isinstance(covariates, str) else list(covariates)
    for where, wanted in (("obs", (target, groups, *covariates)), ("var", (names,))):
        table = getattr(adata, where)
        for name in wanted:
            if name is not None and name not in table:
                has = ", ".join(map(str, table.columns[:10])) or "none"
                raise KeyError(f"{where} has no column {name!r}; it has {has}")
    if target in covariates:
        raise ValueError(f"covariates has {target!r}, which is what is to be explained")
    if layer is not None and layer not in adata.layers:
        layers = ", ".join(adata.layers) or "none"
        raise KeyError(f"there is no layer {layer!r}; there are {layers}")
    y, genes = adata.obs[target], adata.var_names if names is None else adata.var[names]
    matrix: Matrix = _matrix_of(adata, layer)
    labels = np.asarray(y.astype(object) if y.dtype == "category" else y)
    known = np.flatnonzero(~missing_mask(labels))
    if known.size < adata.n_obs:
        y, matrix = y.iloc[known], at_rows(matrix, known)
    features, n_genes = gene_names(genes.tolist(), adata.var_names), adata.n_vars
    if covariates:
        from pandas import get_dummies

        behind = get_dummies(adata.obs[covariates].iloc[known])
        matrix = _beside(matrix, np.asarray(read_features(behind).X, dtype=np.float64))
        features = unique([*features, *map(str, behind.columns)])
        always = settings.pop("always_include", None) or ()
        settings["always_include"] = [*always, *features[n_genes:]]
    selector = tvselect.ThompsonSelector(**settings)
    of_donors = None if groups is None else adata.obs[groups].iloc[known]
    selector.fit(Table.of_matrix(matrix, features), y, groups=of_donors)
    adata.var[key_added] = selector.support_[:n_genes]
    adata.var[f"{key_added}_q_value"] = selector.q_values_[:n_genes]
    adata.var[f"{key_added}_selection_rate"] = selector.selection_rates_[:n_genes]
    max_fdr = selector.max_fdr
    adata.uns[key_added] = {
        "target": target,
        "covariates": covariates,
        "groups": groups or "none",
        "layer": layer or "X",
        "max_fdr": "none" if max_fdr is None else max_fdr,
        "n_plays": selector.n_plays_,
        "n_cells": int(known.size),
        "expected_false": selector.expected_false_,
    }
    return selector


def _beside(matrix: Any, more: NDArray[np.float64]) -> Any:
    if not isinstance(matrix, SparseColumns):
        return np.column_stack([matrix, more])
    from scipy.sparse import csc_array, hstack

    return SparseColumns(hstack([matrix.matrix, csc_array(more)]), is_checked=True)


def _matrix_of(adata: Any, layer: str | None) -> NDArray[Any] | SparseColumns:
    if adata.isbacked and adata.is_view:
        raise ValueError("a view of a backed object cannot be read; use adata.to_memory()")
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("adata.X is empty; say layer=")
    if adata.isbacked and layer is None:
        return _read("load", str(adata.filename), "X")
    return SparseColumns(matrix) if is_sparse(matrix) else np.asarray(matrix)


def open_h5ad(path: str, layer: str | None, names: str | None = None) -> StoredColumns:
    """An AnnData file: genes, by index or the column ``names`` of ``var``; cells are ``obs``."""
    if find_spec("anndata") is None:
        raise ModuleNotFoundError(
            "reading .h5ad files needs anndata: pip install 'tvselect[cells]'"
        )
    key = "X" if layer is None else f"layers/{layer}"
    with tempfile.TemporaryDirectory() as folder:
        seen = ask("look", path, folder, key, names)
        has = ", ".join(map(repr, seen.get("layers", seen.get("columns", ())))) or "none"
        if "layers" in seen:
            raise SourceError(f"{path} has no {key}", f"its layers are: {has}")
        if "columns" in seen:
            raise SourceError(f"{path}: var has no column {names!r}", f"its columns are: {has}")
        rows = load("pyarrow.feather").read_table(Path(folder) / ROWS, memory_map=False)
    genes = gene_names(seen["names"], seen["index"])
    shape = (rows.num_rows, len(genes))
    if tuple(seen["shape"]) != shape:
        raise SourceError(
            f"{path} has {shape[0]:,} cells and {shape[1]:,} genes, but {key} is "
            f"{' x '.join(map(str, seen['shape']))}"
        )
    file = MatrixFile(path, partial(_read, "load", path, key), shape, key)
    return StoredColumns(file, genes, (), rows)


def _read(what: str, path: str, *keys: str) -> NDArray[Any] | SparseColumns:
    """The numbers of a file, mapped by column."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        shape, is_sparse = ask(what, path, folder, *keys)
        mapped = [
            np.load(Path(folder) / name, mmap_mode="r", allow_pickle=False)
            for name in (SPARSE if is_sparse else (DENSE,))
        ]
    if not is_sparse:
        return mapped[0]
    from scipy.sparse import csc_array

    return SparseColumns(csc_array(tuple(mapped), shape=tuple(shape)), is_checked=True)


def beside_market(path: str) -> tuple[Path, Path]:
    """The files with the names of the cells and of the genes of a .mtx file."""

    def find(*names: str) -> Path:
        for file in (folder / f"{name}{packed}" for name in names for packed in ("", ".gz")):
            if file.is_file():
                return file
        raise FileNotFoundError(f"{folder} has no {names[0]} beside the matrix; put it there")

    folder = Path(path).parent
    return find("barcodes.tsv"), find("features.tsv", "genes.tsv")


def open_market(path: str) -> StoredColumns:
    """A matrix of 10x Genomics: genes by cells, in their files beside it."""
    cells, genes = ([line.split("\t") for line in _lines(file)] for file in beside_market(path))
    barcodes = [("", cell[0]) for cell in cells]
    names = unique([gene[1] if len(gene) > 1 else gene[0] for gene in genes])
    shape = (len(barcodes), len(names))
    file = MatrixFile(path, partial(_read_market, path, shape), shape)
    return StoredColumns(file, names, barcodes, None)


def _read_market(path: str, shape: tuple[int, int]) -> Matrix:
    matrix = _read("market", path)
    if matrix.shape != shape:
        raise SourceError(
            f"{path} is {matrix.shape[::-1]}, but features.tsv and barcodes.tsv have {shape[::-1]}",
            "the three files do not belong together",
        )
    return matrix


def _lines(path: Path) -> list[str]:
    with (
        arrow_errors(f"{path} cannot be read", "it is damaged"),
        load("pyarrow").input_stream(path, compression="detect") as stream,
    ):
        data = unpack(stream, str(path), os.path.getsize(path), "unpack it first")
        return data.decode().splitlines()


@final
class MatrixFile(ColumnFile):
    """A matrix ``inside`` a file, read as a whole when needed: sparse, or mapped by column."""

    def __init__(
        self, path: str, load: Callable[[], Matrix], shape: tuple[int, int], inside: str = ""
    ) -> None:
        super().__init__(path, shape)
        self._load, self.inside = load, inside

    @cached_property
    def _whole(self) -> Matrix:
        return self._load()

    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Numbers (rows, columns), by column."""
        places = within(self._columns, columns)
        some = within(self._rows, rows)
        part = self._whole[:, places] if some is None else self._whole[some[:, None], places]
        return np.asfortranarray(part, dtype=np.float64)

    def in_memory(self) -> Matrix | None:
        """The matrix, where it is sparse, or nothing of it is left out."""
        whole = self._whole
        if not isinstance(whole, SparseColumns):
            is_all = self._rows is None and self._columns is None
            return whole if is_all else None
        matrix = whole.matrix if self._columns is None else whole.matrix[:, self._columns]
        return SparseColumns(matrix if self._rows is None else matrix[self._rows], is_checked=True)

    def ranges(self) -> NDArray[np.float64]:
        """The least and largest value of each column, and how many are missing."""
        found = np.empty((3, self.shape[1]))
        for here in in_blocks(self.shape[1], self.shape[0]):
            block = self[:, here]
            found[0, here] = np.fmin.reduce(block, initial=np.inf)
            found[1, here] = np.fmax.reduce(block, initial=-np.inf)
            found[2, here] = np.isnan(block).sum(axis=0)
        return found


def gene_names(names: Sequence[Any], index: Iterable[Any]) -> list[str]:
    """Names of genes, each its own; those without one are called by their index.

    Examples
    --------
    >>> gene_names(["CD3E", None, "CD3E"], ["ENSG1", "ENSG2", "ENSG3"])
    ['CD3E', 'ENSG2', 'CD3E-1']
    """
    labels = np.asarray(names, dtype=object)
    known = zip(labels, index, missing_mask(labels), strict=True)
    return unique([str(other if gone or name == "" else name) for name, other, gone in known])


def unique(names: Sequence[str]) -> list[str]:
    """Names of which the second and later ones are numbered, as scanpy does.

    Examples
    --------
    >>> unique(["A", "A", "B", "A-1"])
    ['A', 'A-2', 'B', 'A-1']
    """
    seen, given = set(), set(names)
    found = []
    for name in names:
        number, new = 1, name
        while new in seen or (new != name and new in given):
            new, number = f"{name}-{number}", number + 1
        seen.add(new)
        found.append(new)
    return found
