"""The paper's simulated set-ups, and how selections are judged on them."""

from tvstudy.simulation.metrics import Score, score
from tvstudy.simulation.setups import SETUPS, Simulated, simulate

__all__ = ["SETUPS", "Score", "Simulated", "score", "simulate"]
