"""Decoys: columns made to look like the real ones and to say nothing about the outcome."""

from tvselect.decoys.knockoffs import (
    Knockoffs,
    SwapTest,
    restore_knockoffs,
    store_knockoffs,
    swap_test,
)

__all__ = ["Knockoffs", "SwapTest", "restore_knockoffs", "store_knockoffs", "swap_test"]
