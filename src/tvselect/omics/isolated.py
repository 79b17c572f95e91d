"""AnnData and Matrix Market files, read by a process of its own.

Their readers are C code that trusts its files: a damaged one may end the process that reads it, or
keep it busy for ever. This module is both sides: run as a program it reads what it is asked for
and leaves it in a folder; :func:`ask` asks, and waits for a limited time.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import numpy as np

from tvselect.inputs.columns import refuse_outside
from tvselect.inputs.errors import SourceError, first_line
from tvselect.inputs.outcome import missing_mask

LEAST_SECONDS, BYTES_A_SECOND = 60.0, 1e6
ONE_AT_A_TIME = Lock()
VALUES_AT_ONCE = 2**24
ROWS, DENSE, SPARSE = "rows.arrow", "dense.npy", ("data.npy", "indices.npy", "indptr.npy")


def ask(what: str, path: str, folder: str, *keys: str | None) -> Any:
    """What a function of :data:`READ` returns in the other process; arrays are in the folder."""
    seconds = LEAST_SECONDS + os.path.getsize(path) / BYTES_A_SECOND
    with ONE_AT_A_TIME:
        reader = _reader()
        clock = Timer(seconds, reader.kill)
        clock.start()
        try:
            print(json.dumps([what, path, folder, *keys]), file=reader.stdin, flush=True)
            answer, why = json.loads(reader.stdout.readline())  # type: ignore[union-attr]
        except (OSError, ValueError):
            is_late = clock.finished.is_set()
            why = f"no end after {seconds:.0f} s" if is_late else "its reader crashed"
            _end(reader)
        except BaseException:
            _end(reader)
            raise
        finally:
            clock.cancel()
    if why is None:
        return answer
    kind = "Matrix Market" if what == "market" else "AnnData"
    raise SourceError(f"{path} cannot be read as {kind}: {why}", "it is damaged, or another file")


@cache
def _reader() -> subprocess.Popen[str]:
    """The other process, started when it is first needed."""
    started = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],  # nothing from the folder that is worked in
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    atexit.register(_end, started)
    return started


def _end(reader: subprocess.Popen[str]) -> None:
    atexit.unregister(_end)
    _reader.cache_clear()
    reader.kill()
    reader.communicate()  # closes its pipes


def main() -> None:
    """Answer questions, a line each, until nobody asks."""
    for line in sys.stdin:
        what, path, folder, *keys = json.loads(line)
        try:
            answer, error = READ[what](path, Path(folder), *keys), None
        except Exception as raised:  # the readers raise whatever they meet
            answer, error = None, first_line(raised)
        print(json.dumps([answer, error]), flush=True)


def look(path: str, folder: Path, key: str, names: str | None) -> dict[str, Any]:
    """The genes by index and by a column of ``var``, and the shape; the cells' table as Arrow.

    Or what there is where the file has no such ``key`` or column.
    """
    import pyarrow as pa
    from pyarrow.feather import write_feather

    read_elem = import_module("anndata.io").read_elem
    with import_module("h5py").File(path, "r") as file:
        if key not in file:
            return {"layers": sorted(file["layers"]) if "layers" in file else []}
        var = read_elem(file["var"])
        index = [str(name) for name in var.index]
        if names is not None and names not in var:
            return {"columns": [str(name) for name in var]}
        rows = pa.Table.from_pandas(read_elem(file["obs"]), preserve_index=False)
        write_feather(rows, str(folder / ROWS), compression="uncompressed")
        stored = file[key]
        shape = stored.shape if hasattr(stored, "shape") else stored.attrs["shape"]
        labels = np.asarray(index if names is None else var[names], dtype=object)
        known = zip(labels, missing_mask(labels), strict=True)
        named = [None if gone else str(name) for name, gone in known]
        return {"index": index, "names": named, "shape": [int(size) for size in shape]}


def load(path: str, folder: Path, key: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of an AnnData file, by column; their shape, and whether they are sparse."""
    with import_module("h5py").File(path, "r") as file:
        stored = file[key]
        if not hasattr(stored, "shape"):
            return _store(import_module("anndata.io").sparse_dataset(stored).to_memory(), folder)
        dtype = np.float32 if stored.dtype == np.float32 else np.float64
        mapped = np.lib.format.open_memmap(
            folder / DENSE, "w+", dtype=dtype, shape=stored.shape, fortran_order=True
        )
        step = max(1, VALUES_AT_ONCE // max(1, stored.shape[1]))
        for first in range(0, stored.shape[0], step):
            mapped[first : first + step] = _finite(stored[first : first + step])
        return stored.shape, False


def market(path: str, folder: Path) -> tuple[tuple[int, ...], bool]:
    """The numbers of a Matrix Market file of genes by cells, as those of cells by genes."""
    matrix = import_module("scipy.sparse").coo_array(import_module("scipy.io").mmread(path))
    if matrix.dtype.kind == "c":
        raise ValueError("it holds complex numbers")
    return _store(matrix.T.astype(np.float64), folder)


def _store(matrix: Any, folder: Path) -> tuple[tuple[int, ...], bool]:
    refuse_outside(matrix)
    matrix = matrix.tocsc()
    matrix.sum_duplicates()
    matrix.check_format()
    parts = (_finite(matrix.data), matrix.indices, matrix.indptr)
    for name, part in zip(SPARSE, parts, strict=True):
        np.save(folder / name, part)
    return tuple(map(int, matrix.shape)), True


def _finite(values: Any) -> Any:
    """Infinite numbers as missing ones."""
    if values.dtype.kind == "f":
        values[np.isinf(values)] = np.nan
    return values


READ: dict[str, Callable[..., Any]] = {"look": look, "load": load, "market": market}

if __name__ == "__main__":
    main()
