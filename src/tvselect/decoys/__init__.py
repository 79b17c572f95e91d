"""Decoys: columns made to look like the real ones and to say nothing about the outcome."""

from tvselect.decoys.knockoffs import GaussianKnockoffs

__all__ = ["GaussianKnockoffs"]
