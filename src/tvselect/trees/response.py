"""The outcome in working units: centred and of range one, or two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs import Outcome
from tvselect.inputs.outcome import Family
from tvselect.trees.bits import in_bit_order

SMALLEST_SCALE = 1e-50


@dataclass(frozen=True)
class Response:
    """An outcome made ready for the sampler; made once, used by any number of chains.

    Attributes
    ----------
    family : {"gaussian", "probit"}
    values : float64 array
        Centred outcome over its range, or +1 / -1, in the order of the bits.
    n_rows : int
    center, scale : float
        Outcome = ``center + scale * working value`` (probit: latent = offset + value).
    noise_scale : float
        Rough guess of the noise standard deviation, in working units.
    offset : float
        ``Phi^-1`` of the share of the second class (probit).
    """

    family: Family
    values: NDArray[np.float64]
    n_rows: int
    center: float
    scale: float
    noise_scale: float
    offset: float

    @property
    def precision(self) -> float:
        """``1 / sigma^2`` that a chain starts from."""
        return 1.0 if self.family == "probit" else self.noise_scale**-2


def working_response(outcome: Outcome, noise_scale: float | Literal["sd"] = "sd") -> Response:
    """Bring a checked outcome into working units.

    Parameters
    ----------
    outcome : Outcome
    noise_scale : float or "sd"
        Rough guess of the noise standard deviation in units of the outcome; "sd" is
        the standard deviation of the outcome itself, the same for every set of
        columns.
    """
    y = outcome.values
    if outcome.family == "probit":
        offset = float(ndtri(y.mean()))
        return Response("probit", in_bit_order(2.0 * y - 1.0), y.size, 0.0, 1.0, 1.0, offset)
    center, scale = float(y.mean()), float(y.max() - y.min())
    values = (y - center) / scale
    guess = float(values.std(ddof=1)) if noise_scale == "sd" else noise_scale / scale
    if not SMALLEST_SCALE < guess < 1.0 / SMALLEST_SCALE:
        raise ValueError(f"noise_scale={noise_scale!r} is out of all proportion to y")
    return Response(
        family="gaussian",
        values=in_bit_order(values),
        n_rows=y.size,
        center=center,
        scale=scale,
        noise_scale=guess,
        offset=0.0,
    )
