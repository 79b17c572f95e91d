"""Waiting for what another process does."""

from __future__ import annotations

import time


def wait_for(condition, seconds=60.0):
    """Look until a condition holds; its value then."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return value
