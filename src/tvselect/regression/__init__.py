"""Sparse regression on functions of columns and of several columns: a second opinion."""

from tvselect.regression.opinion import Opinion, second_opinion

__all__ = ["Opinion", "second_opinion"]
