"""Keep knockoffs as bytes, without pickle; what comes back is checked."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.knockoffs import KnockoffBlock, Knockoffs
from tvselect.decoys.scores import NormalScores
from tvselect.inputs.npz import check_types, read_arrays

STORED = {
    "n_copies": "<i8", "values": "<f8", "starts": "<i8", "rest": "<f8", "loadings": "<f8",
    "sizes": "<i8", "members": "<i8", "s": "<f8", "precision": "<f8", "root": "<f8",
}  # fmt: skip
OF_BLOCKS = ("members", "s", "precision", "root")


def store_knockoffs(knockoffs: Knockoffs) -> bytes:
    """An ``.npz`` file in memory."""
    arrays: dict[str, Any] = {
        "n_copies": np.array([knockoffs.n_copies]),
        "values": knockoffs.scores.values,
        "starts": knockoffs.scores.starts,
        "rest": knockoffs.rest,
        "loadings": knockoffs.loadings.ravel(),
        "sizes": np.array([block.members.size for block in knockoffs.blocks], dtype="<i8"),
    }
    for name in OF_BLOCKS:
        parts = [getattr(block, name).ravel() for block in knockoffs.blocks]
        arrays[name] = np.concatenate([np.empty(0, STORED[name]), *parts])
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def restore_knockoffs(data: bytes) -> Knockoffs:
    """Read what :func:`store_knockoffs` wrote.

    Raises
    ------
    ValueError
        For anything else.
    """
    try:
        parts = read_arrays(data)
        check_types(parts, STORED)
    except ValueError as error:
        raise ValueError("These bytes are not stored knockoffs.") from error
    for name, is_sound in _checks(parts).items():
        if not is_sound:
            raise ValueError(f"These bytes are not stored knockoffs (at {name!r}).")
    sizes, p = parts["sizes"], parts["rest"].size
    ends, squares = np.cumsum(sizes), np.cumsum(sizes**2)
    blocks = []
    for size, end, square in zip(sizes, ends, squares, strict=True):
        lines, matrix = slice(end - size, end), slice(square - size**2, square)
        matrices = (parts[name][matrix].reshape(size, size) for name in ("precision", "root"))
        blocks.append(KnockoffBlock(parts["members"][lines], parts["s"][lines], *matrices))
    return Knockoffs(
        n_copies=int(parts["n_copies"][0]),
        scores=NormalScores(parts["values"], parts["starts"]),
        loadings=parts["loadings"].reshape(p, -1),
        rest=parts["rest"],
        blocks=tuple(blocks),
    )


def _checks(parts: dict[str, NDArray[Any]]) -> dict[str, bool | np.bool_]:
    """By part whether it fits the others."""
    p = parts["rest"].size
    sizes, starts, members = (parts[name] for name in ("sizes", "starts", "members"))
    in_blocks = sizes.sum() if sizes.size <= p and ((sizes > 0) & (sizes <= p)).all() else -1
    squares = (sizes**2).sum()
    wanted = {"rest": p, "s": in_blocks, "precision": squares, "root": squares}
    return {
        "rest": p > 0 and (parts["rest"] > 0).all(),
        "n_copies": parts["n_copies"].size == 1 and parts["n_copies"][0] >= 1,
        "starts": starts.size == p + 1
        and starts[0] == 0
        and starts[-1] == parts["values"].size
        and (np.diff(starts) >= 0).all(),
        "loadings": parts["loadings"].size % p == 0,
        "members": np.unique(members).size == members.size == in_blocks
        and ((members >= 0) & (members < p)).all(),
        **{f"size of {name}": parts[name].size == size for name, size in wanted.items()},
        **{
            f"values of {name}": np.isfinite(parts[name]).all()
            for name, kind in STORED.items()
            if kind == "<f8"
        },
    }
