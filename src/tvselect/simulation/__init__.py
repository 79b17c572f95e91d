"""The paper's simulated set-ups, and how selections are judged on them."""

from tvselect.simulation.metrics import Score, score
from tvselect.simulation.setups import SETUPS, Simulated, simulate

__all__ = ["SETUPS", "Score", "Simulated", "score", "simulate"]
