from .claims import Claim
from .results import SearchResult
from .search import Progress, Search
from .streaming import StreamingThompsonSelector
from .thompson import ThompsonSelector

__all__ = [
    "Claim",
    "Progress",
    "Search",
    "SearchResult",
    "StreamingThompsonSelector",
    "ThompsonSelector",
]
