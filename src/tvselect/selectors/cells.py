"""AnnData: the genes that tell cells apart, written back beside the genes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table
from tvselect.inputs.columns import SparseColumns, is_sparse
from tvselect.inputs.outcome import missing_mask
from tvselect.sources.cells import read_matrix, unique

if TYPE_CHECKING:
    from tvselect.selectors.estimator import ThompsonSelector


def select_anndata(
    adata: Any,
    target: str,
    *,
    layer: str | None = None,
    key_added: str = "tvselect",
    **settings: Any,
) -> ThompsonSelector:
    """Select the genes of an AnnData object that explain a column of ``obs``.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells by genes, dense or sparse, in memory or backed.
    target : str
        A column of ``adata.obs``: labels, numbers, grades; cells without a value are left out.
    layer : str, optional
        Where the numbers are; ``adata.X`` by default.
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
        When ``obs`` has no such column, or there is no such layer.

    Examples
    --------
    >>> from tvselect import select_anndata
    >>> select_anndata(adata, "type", random_state=0)  # doctest: +SKIP
    >>> adata.var[adata.var["tvselect"]]  # doctest: +SKIP
    """
    from tvselect.selectors.estimator import ThompsonSelector

    if target not in adata.obs:
        raise KeyError(f"obs has no column {target!r}; it has {', '.join(adata.obs.columns[:10])}")
    if layer is not None and layer not in adata.layers:
        raise KeyError(
            f"there is no layer {layer!r}; there are {', '.join(adata.layers) or 'none'}"
        )
    y, names = adata.obs[target], unique([str(name) for name in adata.var_names])
    matrix = _matrix_of(adata, layer)
    labels = np.asarray(y.astype(object) if y.dtype == "category" else y)
    known = np.flatnonzero(~missing_mask(labels))
    if known.size < adata.n_obs:
        if isinstance(matrix, SparseColumns):
            matrix = SparseColumns(matrix.matrix[known])
        else:
            matrix = matrix[known]
        y = y.iloc[known]
    selector = ThompsonSelector(**settings).fit(Table.of_matrix(matrix, names), y)
    adata.var[key_added] = selector.support_
    adata.var[f"{key_added}_q_value"] = selector.q_values_
    adata.var[f"{key_added}_selection_rate"] = selector.selection_rates_
    max_fdr = selector.max_fdr
    adata.uns[key_added] = {
        "target": target,
        "layer": layer or "X",
        "max_fdr": "none" if max_fdr is None else max_fdr,
        "n_plays": selector.n_plays_,
        "n_cells": int(known.size),
        "expected_false": selector.expected_false_,
    }
    return selector


def _matrix_of(adata: Any, layer: str | None) -> NDArray[Any] | SparseColumns:
    if adata.isbacked and adata.is_view:
        raise ValueError("a view of a backed object cannot be read; use adata.to_memory()")
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("adata.X is empty; say layer=")
    if adata.isbacked and layer is None:
        return read_matrix(str(adata.filename), "X")
    return SparseColumns(matrix) if is_sparse(matrix) else np.asarray(matrix)
