from .claims import Claim
from .results import SearchResult
from .search import Search
from .streaming import StreamingThompsonSelector
from .thompson import ThompsonSelector

__all__ = ["Claim", "Search", "SearchResult", "StreamingThompsonSelector", "ThompsonSelector"]
