"""The scikit-learn estimators: where arms, rewards and data meet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvselect.selectors.claims import Claim
    from tvselect.selectors.estimator import ThompsonSelector
    from tvselect.selectors.interactions import Interaction
    from tvselect.selectors.results import History
    from tvselect.selectors.streaming import StreamingThompsonSelector
    from tvselect.selectors.worth import Worth, held_out_worth

__all__ = [
    "Claim",
    "History",
    "Interaction",
    "StreamingThompsonSelector",
    "ThompsonSelector",
    "Worth",
    "held_out_worth",
]

_homes = {
    "Claim": "claims",
    "Interaction": "interactions",
    "History": "results",
    "StreamingThompsonSelector": "streaming",
    "ThompsonSelector": "estimator",
    "Worth": "worth",
    "held_out_worth": "worth",
}


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'tvselect.selectors' has no attribute {name!r}")
    return getattr(import_module(f"tvselect.selectors.{_homes[name]}"), name)
