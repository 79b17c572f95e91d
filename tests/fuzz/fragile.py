"""A worker that one case of its target kills, or holds up."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

from fuzz import worker
from fuzz.targets import TARGETS

GROUPS = TARGETS["groups"]


def read(data, folder):
    if data == GROUPS.case(0, 2):
        if os.environ.get("FRAGILE") == "waits":
            signal.setitimer(signal.ITIMER_REAL, 2.0)
            time.sleep(1e6)
        os.kill(os.getpid(), signal.SIGKILL)
    GROUPS.read(data, folder)


if __name__ == "__main__":
    TARGETS["groups"] = replace(GROUPS, read=read)
    worker.main()
