"""Loaders of real data."""

from tvstudy.datasets.hiv import Problem, Validation, fetch_hiv, validated
from tvstudy.datasets.madelon import load_madelon
from tvstudy.datasets.mail import load_direct_mail

__all__ = ["Problem", "Validation", "fetch_hiv", "load_direct_mail", "load_madelon", "validated"]
