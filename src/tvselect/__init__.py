"""Thompson Variable Selection: which columns of a table matter."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"
_homes = {
    name: home
    for home, names in {
        "tvselect.rewards": ("BartReward", "ImportanceReward", "LassoReward", "PValueReward"),
        "tvselect.sources.plink": ("read_plink",),
        "tvselect.selectors.cells": ("select_anndata",),
        "tvselect.selectors": ("StreamingThompsonSelector", "ThompsonSelector", "held_out_worth"),
        "tvselect.trees": ("BartRun", "Prior", "bin_table", "run_bart"),
    }.items()
    for name in names
}
__all__ = sorted(_homes)


def __getattr__(name: str) -> Any:
    if name in _homes:
        return getattr(import_module(_homes[name]), name)
    raise AttributeError(f"module 'tvselect' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
