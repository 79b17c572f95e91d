"""What the arrays of a design say, read slowly."""

from __future__ import annotations

import numpy as np

from tvselect.trees.state import n_words, unpack_codes


def codes_of(design):
    """Codes (columns, rows) of all columns of a design."""
    size = n_words(design.n_rows)
    columns = zip(design.starts.tolist(), design.widths.tolist(), strict=True)
    words = [(design.codes[None, at : at + size * width], width) for at, width in columns]
    codes = [unpack_codes(*part) for part in words]
    return np.concatenate(codes)[:, : design.n_rows]
