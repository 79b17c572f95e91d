"""Keep the encoder of a stream as bytes, without pickle; what comes back is checked."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import restore_knockoffs, store_knockoffs
from tvselect.inputs import Numbered
from tvselect.inputs.npz import check_types, read_arrays
from tvselect.inputs.text import TextColumn, encode_text
from tvselect.selectors.encoding.columns import ColumnEncoding
from tvselect.selectors.encoding.stream import StreamEncoder
from tvselect.selectors.layout import DecoyKind
from tvselect.trees import Cuts
from tvselect.trees.bins import MOST_CUTS

STORED = {
    "names": "|u1", "categorical": "|b1", "settings": "<i8", "feature_of": "<i8", "levels": "|u1",
    "n_cuts": "|u1", "low": "<f8", "step": "<f8", "starts": "<i8", "halfway": "<f8",
    "knockoffs": "|u1",
}  # fmt: skip

KINDS: tuple[DecoyKind | None, ...] = (None, "knockoffs", "shuffled")
CUTS = ("n_cuts", "low", "step", "starts", "halfway")


def store_encoder(encoder: StreamEncoder) -> bytes:
    """All that a resumed run needs to go on."""
    assert encoder.encoding is not None
    e = encoder.encoding
    kind = KINDS.index(encoder.decoys)
    seen = [kind, encoder.max_cuts, encoder.n_batches, encoder.n_rows]
    arrays: dict[str, Any] = {
        "names": _packed(encoder.names),
        "categorical": encoder.categorical,
        "settings": np.array(seen),
        "feature_of": e.feature_of,
        "levels": _packed(e.levels),
        **{name: getattr(e.cuts, name) for name in CUTS},
        "knockoffs": np.frombuffer(store_knockoffs(e.knockoffs) if e.knockoffs else b"", np.uint8),
    }
    if not encoder.is_full:
        arrays["numbers"] = np.concatenate(encoder.held_numbers)
        for place, pieces in enumerate(encoder.held_labels):
            text = encode_text(np.concatenate(pieces))
            arrays[f"codes{place}"] = text.codes
            arrays[f"labels{place}"] = _packed(text.levels)
    file = io.BytesIO()
    try:
        np.savez_compressed(file, **arrays)
    except ValueError as error:
        # An interrupt in the midst of it comes out as the archive's complaint.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    return file.getvalue()


def restore_encoder(blob: bytes) -> StreamEncoder:
    """The encoder that :func:`store_encoder` wrote down.

    Raises
    ------
    ValueError
        For anything else.
    """
    arrays = read_arrays(blob)
    check_types(arrays, STORED)
    _demand(arrays["settings"].size == 4, "settings")
    names, levels = (tuple(_unpacked(arrays, name)) for name in ("names", "levels"))
    kind, max_cuts, n_batches, n_rows = map(int, arrays["settings"])
    _demand(0 <= kind < len(KINDS) and min(max_cuts, n_batches, n_rows) >= 1, "settings")
    encoder = StreamEncoder(names, arrays["categorical"], decoys=KINDS[kind], max_cuts=max_cuts)
    encoder.n_batches, encoder.n_rows = n_batches, n_rows
    _check_columns(names, levels, arrays)
    _check_cuts(arrays, arrays["feature_of"].size)
    knockoffs = None
    if encoder.decoys == "knockoffs" and encoder.has_numbers:
        knockoffs = restore_knockoffs(arrays["knockoffs"].tobytes())
        _demand(knockoffs.rest.size == np.count_nonzero(~encoder.categorical), "knockoffs")
    n_columns = arrays["n_cuts"].size
    cuts = {name: arrays[name] for name in CUTS}
    encoder.encoding = ColumnEncoding(
        names=names,
        feature_of=arrays["feature_of"],
        levels=np.array(levels, dtype=object),
        categorical=encoder.categorical,
        cuts=Cuts(**cuts, names=Numbered(n_columns)),
        knockoffs=knockoffs,
    )
    if not encoder.is_full:
        _take_rows(encoder, arrays)
    return encoder


def _take_rows(encoder: StreamEncoder, arrays: dict[str, NDArray[Any]]) -> None:
    """The rows that an encoder which needs more has seen."""
    numbers = arrays.get("numbers", np.empty(0))
    shape = (encoder.n_rows, int((~encoder.categorical).sum()))
    _demand(numbers.shape == shape and numbers.dtype in (np.float32, np.float64), "numbers")
    encoder.held_numbers = [numbers]
    for place, pieces in enumerate(encoder.held_labels):
        check_types(arrays, {f"codes{place}": "<i8", f"labels{place}": "|u1"})
        codes, labels = arrays[f"codes{place}"], _unpacked(arrays, f"labels{place}")
        fits = codes.size == encoder.n_rows and codes.min() >= -1 and codes.max() < len(labels)
        _demand(fits, f"codes{place}")
        pieces.append(TextColumn(codes, tuple(labels)).labels())


def _packed(texts: Sequence[str] | NDArray[np.object_]) -> NDArray[np.uint8]:
    """Texts as JSON: every cell of NumPy's own text is as wide as the longest one."""
    return np.frombuffer(json.dumps(list(texts)).encode(), np.uint8)


def _unpacked(arrays: dict[str, NDArray[Any]], name: str) -> list[str]:
    try:
        texts = json.loads(arrays[name].tobytes())
    except (ValueError, RecursionError):
        texts = None
    _demand(isinstance(texts, list) and all(isinstance(text, str) for text in texts), name)
    return list(texts)


def _check_columns(
    names: tuple[str, ...], levels: tuple[str, ...], arrays: dict[str, NDArray[Any]]
) -> None:
    """Raise unless every feature has its columns, one if it is a number."""
    categorical, feature_of = arrays["categorical"], arrays["feature_of"]
    _demand(categorical.size == len(names) > 0, "categorical")
    _demand(feature_of.size == len(levels) > 0, "levels")
    steps = np.diff(feature_of, prepend=-1, append=len(names))
    _demand(bool(np.isin(steps, (0, 1)).all()), "feature_of")
    n_columns = np.bincount(feature_of, minlength=len(names))
    _demand(bool((n_columns[~categorical] == 1).all()), "feature_of")


def _check_cuts(arrays: dict[str, NDArray[Any]], n_columns: int) -> None:
    """Raise unless every column has its cut points."""
    n_cuts, starts = arrays["n_cuts"], arrays["starts"]
    for name, size in (("n_cuts", 0), ("low", 0), ("step", 0), ("starts", 1)):
        _demand(arrays[name].size == n_columns + size, name)
    _demand(bool((n_cuts <= MOST_CUTS).all()), "n_cuts")
    _demand(starts[0] == 0 and starts[-1] == arrays["halfway"].size, "starts")
    sizes = np.diff(starts)
    _demand(bool(((sizes == 0) | (sizes == n_cuts)).all()), "starts")
    for name in ("low", "step", "halfway"):
        _demand(bool(np.isfinite(arrays[name]).all()), name)


def _demand(fits: bool | np.bool_, name: str) -> None:
    if not fits:
        raise ValueError(f"these bytes are no stored encoder of a stream (at {name!r})")
