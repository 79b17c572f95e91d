"""Arrays out of an ``.npz`` file that anyone may have made."""

from __future__ import annotations

import io
import math
import sys
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PACKED = 1100  # Deflate packs at most 1032 bytes into one


def read_arrays(blob: bytes) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz`` file, without pickles and archive bombs, or a ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive, warnings.catch_warnings():
            warnings.simplefilter("error")
            files = archive.infolist()
            if sum(file.file_size for file in files) > MOST_PACKED * len(blob):
                raise ValueError("it unpacks to more than it can hold")
            return {
                file.filename.removesuffix(".npy"): _read_array(archive.read(file))
                for file in files
            }
    except Exception as error:  # the archive, its codecs and NumPy's header have each their own
        raise ValueError(f"these bytes are no stored arrays ({type(error).__name__})") from error


def check_types(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, str]) -> None:
    """A ValueError unless arrays of one dimension and these types ("<f8", "U") are there."""
    for name, wanted in types.items():
        found = arrays.get(name)
        if found is None or found.ndim != 1 or wanted not in (found.dtype.str, found.dtype.kind):
            raise ValueError(f"there is no fitting array {name!r}")


def _read_array(content: bytes) -> NDArray[Any]:
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)[0]
    read_header: Any = getattr(np.lib.format, f"read_array_header_{min(version, 2)}_0")
    shape, _, dtype = read_header(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > len(content):
        raise ValueError("an array says that it is larger than it is")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    if dtype.kind == "U" and array.size and dtype.itemsize:
        codes = array.ravel().view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise ValueError("a text holds what is no character")
    return array
