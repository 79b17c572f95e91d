"""The scikit-learn estimators: where arms, rewards and data meet."""

from tvselect.selectors.history import History
from tvselect.selectors.streaming import StreamingThompsonSelector
from tvselect.selectors.thompson import ThompsonSelector

__all__ = ["History", "StreamingThompsonSelector", "ThompsonSelector"]
