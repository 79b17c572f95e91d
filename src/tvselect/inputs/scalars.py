"""Parameters that are one number, checked as scikit-learn does, without its import of seconds."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

NAMES: dict[Any, str] = {Integral: "int", Real: "float"}


def check_scalar(
    x: Any,
    name: str,
    target_type: type | tuple[type, ...],
    *,
    min_val: float | None = None,
    max_val: float | None = None,
    include_boundaries: Literal["both", "right", "neither"] = "both",
) -> Any:
    """Refuse a value of another type, or beyond its bounds; returns it.

    Raises
    ------
    TypeError, ValueError
        In the words of :func:`sklearn.utils.check_scalar`.

    Examples
    --------
    >>> check_scalar(0, "n_plays", Integral, min_val=1)
    Traceback (most recent call last):
        ...
    ValueError: n_plays == 0, must be >= 1.
    """
    if not isinstance(x, target_type):
        kinds = target_type if isinstance(target_type, tuple) else (target_type,)
        wanted = " or ".join(dict.fromkeys(NAMES.get(kind, kind.__name__) for kind in kinds))
        raise TypeError(f"{name} must be an instance of {wanted}, not {type(x).__qualname__}.")
    at_low = "=" if include_boundaries == "both" else ""
    at_high = "" if include_boundaries == "neither" else "="
    number: Any = x
    if min_val is not None and (number < min_val or (number == min_val and not at_low)):
        raise ValueError(f"{name} == {x}, must be >{at_low} {min_val}.")
    if max_val is not None and (number > max_val or (number == max_val and not at_high)):
        raise ValueError(f"{name} == {x}, must be <{at_high} {max_val}.")
    return x
