"""Cells and genes: AnnData (.h5ad) and the matrices of 10x Genomics (.mtx)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import arrow_errors, load
from tvselect.inputs.columns import ColumnFile, SparseColumns, WholeMatrix, within
from tvselect.inputs.errors import SourceError
from tvselect.inputs.facts import LeftOut
from tvselect.sources.by_column import ColumnTable, in_order
from tvselect.sources.files import DataFile, find_files
from tvselect.sources.h5ad import DENSE, ROWS, SPARSE, ask
from tvselect.sources.stored import TableFiles
from tvselect.sources.texts import LEAST_UNPACKED, MOST_PACKED

VALUES_AT_ONCE, BYTES_AT_ONCE = 2**24, 2**20
PACKED = ("", ".gz")
NAMES_OF_ROWS = ("barcodes.tsv",)
NAMES_OF_COLUMNS = ("features.tsv", "genes.tsv")


@final
class LoadedFile(ColumnFile):
    """A matrix that is read as a whole when it is first needed: sparse, or mapped by column.

    Parameters
    ----------
    path : str
    load : callable
        Returns the matrix (rows, columns): sparse, or an array.
    shape : (int, int)
        Of the matrix.
    inside : str
        Where it is in the file.
    """

    def __init__(
        self,
        path: str,
        load: Callable[[], WholeMatrix],
        shape: tuple[int, int],
        inside: str = "",
    ) -> None:
        super().__init__(path, shape)
        self._load, self.inside = load, inside

    @cached_property
    def _whole(self) -> WholeMatrix:
        return self._load()

    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Numbers (rows, columns), by column."""
        places = within(self._columns, columns)
        some = within(self._rows, rows)
        read = self._whole[:, places] if some is None else self._whole[some[:, None], places]
        return np.asfortranarray(read, dtype=np.float64)

    def in_memory(self) -> WholeMatrix | None:
        """The matrix, where it is sparse, or nothing of it is left out."""
        whole = self._whole
        if not isinstance(whole, SparseColumns):
            is_all = self._rows is None and self._columns is None
            return whole if is_all else None
        matrix = whole.matrix
        matrix = matrix if self._columns is None else matrix[:, self._columns]
        return SparseColumns(matrix if self._rows is None else matrix[self._rows])

    def useless(self) -> dict[int, LeftOut]:
        """Columns that say nothing, and why."""
        found: dict[int, LeftOut] = {}
        for first, block in self._blocks():
            low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
            for j in np.flatnonzero(~(low < high)).tolist():
                is_empty = bool(np.isnan(low[j]))
                found[first + j] = (
                    LeftOut("no value") if is_empty else LeftOut("constant", f"{low[j]:g}")
                )
        return found

    def with_missing(self) -> NDArray[np.int64]:
        """Columns with missing values."""
        found = [first + np.flatnonzero(np.isnan(b).any(axis=0)) for first, b in self._blocks()]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Some columns at a time, and the place of the first."""
        step = max(1, VALUES_AT_ONCE // max(1, self.shape[0]))
        for first in range(0, self.shape[1], step):
            yield first, self.read(np.arange(first, min(first + step, self.shape[1])))


@final
class H5adFiles(ColumnTable):
    """An AnnData file: genes are the columns, what ``obs`` says of the cells is in front.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
        The .h5ad file.
    layer : str, optional
        Where the numbers are; ``X`` by default.
    """

    def __init__(self, where: str, files: Sequence[DataFile], layer: str | None = None) -> None:
        super().__init__(where, files, "AnnData")
        path = files[0].path
        key = "X" if layer is None else f"layers/{layer}"
        with tempfile.TemporaryDirectory() as folder:
            seen = ask("look", path, key, folder)
            if "layers" in seen:
                layers = ", ".join(map(repr, seen["layers"])) or "none"
                raise SourceError(f"{path} has no {key}", f"its layers are: {layers}")
            rows = load("pyarrow.feather").read_table(Path(folder) / ROWS, memory_map=False)
        names = unique(seen["names"])
        shape = (rows.num_rows, len(names))
        if tuple(seen["shape"]) != shape:
            raise SourceError(
                f"{path} has {shape[0]:,} cells and {shape[1]:,} genes, but {key} is "
                f"{' x '.join(map(str, seen['shape']))}"
            )
        self._hold(LoadedFile(path, partial(read_matrix, path, key), shape, key), names, rows)


def read_matrix(path: str, key: str) -> NDArray[Any] | SparseColumns:
    """The numbers of an AnnData file, mapped by column."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        shape, is_sparse = ask("load", path, key, folder)
        if not is_sparse:
            mapped: NDArray[Any] = np.load(Path(folder) / DENSE, mmap_mode="r", allow_pickle=False)
            return mapped
        from scipy.sparse import csc_array

        data, indices, indptr = (
            np.load(Path(folder) / name, mmap_mode="r", allow_pickle=False) for name in SPARSE
        )
        return SparseColumns(csc_array((data, indices, indptr), shape=tuple(shape)))


@final
class MatrixFiles(ColumnTable):
    """A matrix of 10x Genomics: genes by cells, with ``barcodes.tsv`` and ``features.tsv`` beside.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
        The .mtx file, which may be compressed.
    known : TableFiles, optional
        What is known of the cells, by their barcodes.
    """

    def __init__(
        self, where: str, files: Sequence[DataFile], known: TableFiles | None = None
    ) -> None:
        folder = Path(files[0].path).parent
        cells, genes = (_beside(folder, names) for names in (NAMES_OF_ROWS, NAMES_OF_COLUMNS))
        others = [] if known is None else known.files
        super().__init__(where, (*files, cells, genes, *others), "Matrix Market")
        if known is None:
            raise SourceError(f"{where} says nothing of the cells", "name a table: {phenotypes}")
        path = files[0].path
        barcodes = [line[0] for line in _lines(cells)]
        names = unique([line[1] if len(line) > 1 else line[0] for line in _lines(genes)])
        shape = (len(barcodes), len(names))
        rows = in_order(known, [("", barcode) for barcode in barcodes], where)
        file = LoadedFile(path, partial(read_market, path, shape), shape)
        self._hold(file, names, rows)


def read_market(path: str, shape: tuple[int, int]) -> WholeMatrix:
    """The matrix of a .mtx file with the genes as columns.

    SciPy's reader ends the process where a damaged file names a place outside of the matrix.
    """
    (file,) = find_files(path, (".mtx",))
    csv, pa = load("pyarrow.csv"), load("pyarrow")
    with arrow_errors(f"{path} cannot be read", "it is damaged"):
        text = _unpacked(file)
        kind, size, at = _market_head(text, path)
        if size[:2] != shape[::-1]:
            raise SourceError(
                f"{path} is {size[:2]}, but features.tsv and barcodes.tsv have {shape[::-1]}",
                "the three files do not belong together",
            )
        first = text[at : text.find(b"\n", at)]
        types = {"i": pa.int64(), "j": pa.int64(), "value": pa.float64()}
        names = [name for name in types if name != "value" or kind != "pattern"]
        table = csv.read_csv(
            pa.BufferReader(memoryview(text)[at:]),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter="\t" if b"\t" in first else " "),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
        )
        i, j = (table[name].to_numpy() - 1 for name in names[:2])
    if not (len(i) == size[2] and _is_inside(i, size[0]) and _is_inside(j, size[1])):
        raise SourceError(f"{path} does not have the {size[2]:,} entries that it says it has")
    values = table["value"].to_numpy() if kind != "pattern" else np.ones(len(i))
    from scipy.sparse import coo_array

    values = np.where(np.isinf(values), np.nan, values)
    return SparseColumns(coo_array((values, (j, i)), shape=shape))


def _unpacked(file: DataFile) -> bytearray:
    """All of a file; raises where it is packed more tightly than any table."""
    text, limit = bytearray(), max(LEAST_UNPACKED, MOST_PACKED * file.size)
    with file.open_stream() as stream:
        while piece := stream.read(BYTES_AT_ONCE):
            text += piece
            if len(text) > limit:
                raise SourceError(f"{file.path} is packed too tightly", "unpack it first")
    return text


def _is_inside(places: NDArray[np.int64], size: int) -> bool:
    return bool(((places >= 0) & (places < size)).all())


def _market_head(text: bytearray, path: str) -> tuple[str, tuple[int, int, int], int]:
    """The kind of values of a .mtx file, its rows, columns and entries; where these begin."""
    at = text.find(b"\n") + 1
    words = text[:at].decode("ascii", "replace").lower().split()
    is_known = words[:3] == ["%%matrixmarket", "matrix", "coordinate"] and words[4:] == ["general"]
    if not is_known or words[3] not in ("integer", "real", "pattern"):
        raise SourceError(
            f"{path} does not begin as a sparse matrix of numbers does: {bytes(text[:80])!r}",
            "write it as '%%MatrixMarket matrix coordinate integer general'",
        )
    line = bytearray(b"%")
    while at > 0 and (line.startswith(b"%") or not line.strip()):
        end = text.find(b"\n", at) + 1
        line, at = text[at : end or None], end
    try:
        n_rows, n_columns, n_entries = (int(word) for word in line.split())
    except ValueError:
        raise SourceError(f"{path} does not say how large it is: {bytes(line[:80])!r}") from None
    return words[3], (n_rows, n_columns, n_entries), at or len(text)


def unique(names: Sequence[str]) -> list[str]:
    """Names of which the second and later ones are numbered, as scanpy does.

    Examples
    --------
    >>> unique(["A", "A", "B", "A-1"])
    ['A', 'A-2', 'B', 'A-1']
    """
    seen, given = set(), set(names)
    found = []
    for name in names:
        number, new = 1, name
        while new in seen or (new != name and new in given):
            new, number = f"{name}-{number}", number + 1
        seen.add(new)
        found.append(new)
    return found


def _beside(folder: Path, names: Sequence[str]) -> DataFile:
    for name in names:
        for packed in PACKED:
            if (folder / f"{name}{packed}").is_file():
                return find_files(folder / f"{name}{packed}", (".tsv",))[0]
    raise FileNotFoundError(f"{folder} has no {names[0]} beside the matrix; put it there")


def _lines(file: DataFile) -> list[list[str]]:
    try:
        text = _unpacked(file).decode()
    except (UnicodeDecodeError, OSError) as error:
        raise SourceError(f"{file.path} cannot be read: {error}", "it is damaged") from error
    return [line.split("\t") for line in text.splitlines()]
