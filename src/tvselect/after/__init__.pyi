from .interactions import Interaction
from .worth import Stability, Worth, held_out_worth, stability_over_seeds

__all__ = ["Interaction", "Stability", "Worth", "held_out_worth", "stability_over_seeds"]
