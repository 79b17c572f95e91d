"""What the arrays of a design say, read slowly."""

from __future__ import annotations

import numpy as np

from tvselect.trees.bits import n_words, unpack


def codes_of(design):
    """Codes (columns, rows) of all columns of a design."""
    size = n_words(design.n_rows)
    columns = zip(design.starts.tolist(), design.widths.tolist(), strict=True)
    codes = [unpack(design.codes[None, at : at + size * width], width) for at, width in columns]
    return np.concatenate(codes)[:, : design.n_rows]
