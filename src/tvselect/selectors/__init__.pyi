from .claims import Claim
from .estimator import ThompsonSelector
from .results import History
from .streaming import StreamingThompsonSelector

__all__ = ["Claim", "History", "StreamingThompsonSelector", "ThompsonSelector"]
