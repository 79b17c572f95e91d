"""Where plays run: in this thread, in threads, in processes, on a Dask cluster."""

from tvselect.runners.base import Runner, TaskMap, WorkerError
from tvselect.runners.cluster import DaskRunner
from tvselect.runners.local import HereRunner, ThreadRunner
from tvselect.runners.opening import open_runner, opened
from tvselect.runners.processes import ProcessRunner

__all__ = [
    "DaskRunner",
    "HereRunner",
    "ProcessRunner",
    "Runner",
    "TaskMap",
    "ThreadRunner",
    "WorkerError",
    "open_runner",
    "opened",
]
