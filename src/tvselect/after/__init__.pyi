from .interactions import Interaction
from .stability import Stability, stability_over_seeds
from .worth import Worth, held_out_worth

__all__ = ["Interaction", "Stability", "Worth", "held_out_worth", "stability_over_seeds"]
