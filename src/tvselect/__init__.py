"""Thompson Variable Selection: which columns of a table matter."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "BartReward",
    "BartRun",
    "ImportanceReward",
    "LassoReward",
    "PValueReward",
    "Prior",
    "StreamingThompsonSelector",
    "ThompsonSelector",
    "bin_table",
    "run_bart",
]

_homes = {
    "BartReward": "tvselect.rewards",
    "BartRun": "tvselect.trees",
    "ImportanceReward": "tvselect.rewards",
    "LassoReward": "tvselect.rewards",
    "PValueReward": "tvselect.rewards",
    "Prior": "tvselect.trees",
    "StreamingThompsonSelector": "tvselect.selectors",
    "ThompsonSelector": "tvselect.selectors",
    "bin_table": "tvselect.trees",
    "run_bart": "tvselect.trees",
}


def __getattr__(name: str) -> Any:
    if name in _homes:
        return getattr(import_module(_homes[name]), name)
    raise AttributeError(f"module 'tvselect' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
