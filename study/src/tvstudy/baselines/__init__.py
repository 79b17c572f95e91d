"""The methods that Thompson Variable Selection is compared with, each with a selector's face.

A method is imported when it is first asked for, so that one whose extra is not installed
does not stand in the way of the others.
"""

from importlib import import_module
from typing import Any

_homes = {
    "AlphaInvesting": "alpha_investing",
    "BartBaseline": "trees",
    "Baseline": "base",
    "Boruta": "boruta",
    "ForestBaseline": "habits",
    "Horseshoe": "horseshoe",
    "KnockoffFilter": "knockoffs",
    "LassoBaseline": "lasso",
    "RfecvBaseline": "habits",
    "SisBart": "sis",
    "SpikeSlabLasso": "spike_slab_lasso",
}

__all__ = list(_homes)


def __getattr__(name: str) -> Any:
    if name in _homes:
        return getattr(import_module(f"{__name__}.{_homes[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
