"""Simulated tables, the paper's set-ups among them, and how selections are judged on them."""

from tvstudy.simulation.metrics import AtLevel, Score, score, score_at
from tvstudy.simulation.nulls import simulate_null
from tvstudy.simulation.outcomes import (
    Labelled,
    simulate_counts,
    simulate_expression,
    simulate_grades,
    simulate_survival,
)
from tvstudy.simulation.setups import SETUPS, Simulated, simulate
from tvstudy.simulation.signals import plant_signals, simulate_autoregressive, simulate_bumps

__all__ = [
    "SETUPS",
    "AtLevel",
    "Labelled",
    "Score",
    "Simulated",
    "plant_signals",
    "score",
    "score_at",
    "simulate",
    "simulate_autoregressive",
    "simulate_bumps",
    "simulate_counts",
    "simulate_expression",
    "simulate_grades",
    "simulate_null",
    "simulate_survival",
]
