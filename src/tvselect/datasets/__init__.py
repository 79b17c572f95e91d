"""Loaders of real data."""

from tvselect.datasets.hiv import Problem, Validation, fetch_hiv, validated
from tvselect.datasets.mail import load_direct_mail

__all__ = ["Problem", "Validation", "fetch_hiv", "load_direct_mail", "validated"]
