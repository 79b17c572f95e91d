"""Ctrl-C: the first one ends a run in good order, the second one at once."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
SECONDS_TO_WAIT = 0.05
IMPORTING = "<frozen importlib._bootstrap>"


@contextmanager
def interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first Ctrl-C, end the process at the second.

    Modules that are half imported lose or swallow what is raised in their midst: as long as one
    is being imported, the first Ctrl-C waits.
    """
    presses = _Presses()
    try:
        before = signal.signal(signal.SIGINT, presses)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        presses.is_over = True
        signal.signal(signal.SIGINT, before)


class _Presses:
    """The handler of the signal; counts how often it came from outside."""

    def __init__(self) -> None:
        self.is_over = False
        self._n_imports = _count_imports(sys._getframe())
        self._is_pressed = self._is_raised = self._is_again = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        is_again, self._is_again = self._is_again, False
        if self._is_pressed and not is_again:
            os.write(2, b"\nstopped at once; plays that were made are kept in the journal\n")
            os._exit(INTERRUPTED)
        self._is_pressed = True
        if _count_imports(frame) > self._n_imports:
            wait = threading.Timer(SECONDS_TO_WAIT, self._again)
            wait.daemon = True
            wait.start()
        elif not self._is_raised:
            self._is_raised = True
            raise KeyboardInterrupt

    def _again(self) -> None:
        if not self.is_over:
            self._is_again = True
            _thread.interrupt_main()


def _count_imports(frame: FrameType | None) -> int:
    """Imports under way in a thread."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename == IMPORTING
        frame = frame.f_back
    return count
