from .interactions import Interaction
from .worth import Worth, held_out_worth

__all__ = ["Interaction", "Worth", "held_out_worth"]
