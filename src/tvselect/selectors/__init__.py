"""The scikit-learn estimators: where arms, rewards and data meet."""

from tvselect.selectors.history import History
from tvselect.selectors.thompson import ThompsonSelector

__all__ = ["History", "ThompsonSelector"]
