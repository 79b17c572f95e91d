"""Sparse regression on functions of columns and of several columns: a second opinion."""

from tvselect.regression.alone import RegressionRun, run_regression
from tvselect.regression.opinion import Opinion, second_opinion

__all__ = ["Opinion", "RegressionRun", "run_regression", "second_opinion"]
