from .claims import Claim
from .results import History
from .search import Search
from .streaming import StreamingThompsonSelector
from .thompson import ThompsonSelector

__all__ = ["Claim", "History", "Search", "StreamingThompsonSelector", "ThompsonSelector"]
