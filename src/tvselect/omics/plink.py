"""PLINK: genotypes in two bits each (.bed), their variants (.bim) and people (.fam)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.inputs import Table
from tvselect.inputs.arrow import load
from tvselect.inputs.columns import ColumnFile, within
from tvselect.inputs.errors import SourceError, first_line, needed
from tvselect.inputs.table import read_table, refuse_repeated
from tvselect.omics import StoredColumns

BESIDE = (".bim", ".fam")
MAGIC, SNP_MAJOR = b"\x6c\x1b", 1
HEADER_BYTES, PER_BYTE = 3, 4
VALUES = (2, 3, 1, 0)
"""What the two bits of a genotype stand for: copies of the first allele, 3 for missing."""
FOUR_BITS = np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3
FOUR_VALUES = np.array(VALUES, np.uint8)[FOUR_BITS].view("<u4")[:, 0]
"""What a byte stands for, a byte for each of its four genotypes."""
BYTES_AT_ONCE = 2**26
NO_PHENOTYPE = ("-9", "NA", "nan", "NaN", "")
count_genotypes = function(
    "count_genotypes", "stored: u1[columns, bytes]\ncounts: i8[columns, values=4]!"
)
"""Count what the pairs of bits of each column stand for."""


def read_plink(bed: str | os.PathLike[str], people: Any = None) -> Table:
    """Genotypes of a PLINK file as a table, of which :meth:`ThompsonSelector.fit` reads columns.

    Parameters
    ----------
    bed : path
        The .bed file; the .bim and .fam files lie beside it.
    people : data frame, optional
        Covariates: columns in front of the variants, rows in the order of the .fam file.

    Returns
    -------
    Table
        Copies of the first allele (0, 1, 2, or NaN where missing), one column per variant. Two
        bits a genotype stay in the file; what is asked for is read.

    Raises
    ------
    ModuleNotFoundError
        Without bed-reader.
    OSError, SourceError
        When the files cannot be read or do not belong together.

    Examples
    --------
    >>> from tvselect import ThompsonSelector, read_plink
    >>> genotypes = read_plink("study.bed")  # doctest: +SKIP
    >>> ThompsonSelector(feature_groups="ld").fit(genotypes, height)  # doctest: +SKIP
    """
    path = Path(bed).expanduser().absolute()
    for part in (path, *map(path.with_suffix, BESIDE)):
        if not part.exists():
            raise FileNotFoundError(f"{part} does not exist; look at the path")
    stored = open_plink(str(path))
    n_people = stored.file.shape[0]
    if people is None:
        front = Table.of_matrix(np.empty((n_people, 0)), ())
    else:
        front = read_table(people, what="people")
    if front.n_rows != n_people:
        raise ValueError(f"people has {front.n_rows:,} rows, but {bed} has {n_people:,} people")
    refuse_repeated([*front.names, *stored.names], os.fspath(bed), "rename them")
    return front.beside(stored.file, stored.names)


def open_plink(path: str) -> StoredColumns:
    """The genotypes of a .bed file; what the .fam file says of the people is sex and phenotype."""
    open_bed = _bed_reader().open_bed
    with _errors(
        f"the .bim and .fam files of {path}",
        "they need six columns each, with tabs between them (in the .fam file blanks will do)",
        OSError,
    ):
        bed = open_bed(path, skip_format_check=True)
        ids = list(zip(map(str, bed.fid), map(str, bed.iid), strict=True))
        variants = _names(bed)
        sex = np.asarray(bed.sex, dtype=np.float64)
        phenotype = np.asarray(bed.pheno, dtype=np.str_).tolist()
    if not ids or not variants:
        raise SourceError(f"{path} has {len(ids):,} people and {len(variants):,} variants")
    sex[sex == 0.0] = np.nan
    pa = load("pyarrow")
    columns = {"sex": pa.array(sex, from_pandas=True), "phenotype": _phenotype(phenotype)}
    return StoredColumns(BedFile(path, len(ids), len(variants)), variants, ids, pa.table(columns))


@final
class BedFile(ColumnFile):
    """The genotypes of a .bed file: copies of the first allele, 0, 1 or 2, or missing."""

    def __init__(self, path: str, n_people: int, n_variants: int) -> None:
        super().__init__(path, (n_people, n_variants))
        with open(path, "rb") as file:
            head = file.read(HEADER_BYTES)
        if head[:2] != MAGIC or len(head) < HEADER_BYTES:
            raise SourceError(f"{path} does not begin as a .bed file does", "write it again")
        if head[2] != SNP_MAJOR:
            raise SourceError(
                f"{path} stores the genotypes person by person",
                "write it again with a current PLINK, which stores them variant by variant",
            )
        size, needed = os.path.getsize(path), HEADER_BYTES + n_variants * self._bytes_of_variant
        if size != needed:
            raise SourceError(
                f"{path} has {size:,} bytes where {n_people:,} people (.fam) and {n_variants:,} "
                f"variants (.bim) take {needed:,}",
                "it is cut off, or the three files do not belong together",
            )

    @property
    def _bytes_of_variant(self) -> int:
        return -(-self._whole_shape[0] // PER_BYTE)

    def _reading(self) -> Any:
        return _errors(self.path, "it is damaged or has changed")

    @cached_property
    def _bed(self) -> Any:
        n_people, n_variants = self._whole_shape
        counts = {"iid_count": n_people, "sid_count": n_variants}
        with self._reading():
            return _bed_reader().open_bed(self.path, **counts, skip_format_check=True)

    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Genotypes (rows, columns), by column; NaN where missing."""
        people, variants = within(self._rows, rows), within(self._columns, columns)
        index = (slice(None) if people is None else people, variants)
        with self._reading():
            return self._bed.read(index=index, dtype="float64", order="F")

    def read_small(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Genotypes (columns, rows); 3 where missing."""
        variants = within(self._columns, columns)
        assert variants is not None
        stored = np.empty((variants.size, self._bytes_of_variant), np.uint8)
        with open(self.path, "rb", buffering=0) as file:
            for line, variant in zip(stored, variants.tolist(), strict=True):
                file.seek(HEADER_BYTES + variant * self._bytes_of_variant)
                if file.readinto(line.data) != line.size:
                    raise SourceError(f"{self.path} has become shorter", "it has changed")
        values = FOUR_VALUES[stored].view(np.uint8)
        people = slice(self._whole_shape[0]) if self._rows is None else self._rows
        return np.ascontiguousarray(values[:, people])

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many people of the file have 0, 1 and 2 copies and missing values (columns, 4)."""
        return self._counts if self._columns is None else self._counts[self._columns]

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        n_people, n_variants = self._whole_shape
        width = self._bytes_of_variant
        n_padding = PER_BYTE * width - n_people  # pairs of bits behind the last person
        counts = np.zeros((n_variants, 4), dtype=np.int64)
        step = max(1, BYTES_AT_ONCE // width)
        with open(self.path, "rb") as file:
            file.seek(HEADER_BYTES)
            for first in range(0, n_variants, step):
                some = counts[first : first + step]
                block = np.fromfile(file, np.uint8, some.shape[0] * width).reshape(-1, width)
                block[:, -1] &= 255 >> (2 * n_padding)
                count_genotypes(block, some)
        counts[:, VALUES[0]] -= n_padding
        return counts

    def in_memory(self) -> None:
        """It stays in the file."""

    def ranges(self) -> NDArray[np.float64]:
        """The least and largest number of copies of each variant, and how many are missing."""
        *n_people, n_missing = self.counts.T
        copies = np.arange(3)[:, None]
        present = np.array(n_people) > 0
        low = np.min(np.where(present, copies, np.inf), axis=0)
        return np.array([low, np.max(np.where(present, copies, -np.inf), axis=0), n_missing])


def _bed_reader() -> Any:
    how = "reading PLINK files needs bed-reader: pip install 'tvselect[genetics]'"
    return needed("bed_reader", how)


@contextmanager
def _errors(what: str, remedy: str, passing: type[Exception] = MemoryError) -> Iterator[None]:
    """Turn whatever bed-reader raises into a SourceError; other errors pass."""
    try:
        yield
    except (ModuleNotFoundError, MemoryError, passing):
        raise
    except Exception as error:
        raise SourceError(f"{what} cannot be read: {first_line(error)}", remedy) from error


def _names(bed: Any) -> list[str]:
    """Unique identifiers of variants, by chromosome:position:alleles or a number where needed."""
    names = [str(name) for name in bed.sid]
    seen: dict[str, int] = {}
    columns = zip(names, bed.chromosome, bed.bp_position, bed.allele_1, bed.allele_2, strict=True)
    for j, (name, chromosome, position, first, second) in enumerate(columns):
        if name == "." or name in seen:
            name = f"{chromosome}:{position}:{first}:{second}"
        times = seen[name] = seen.get(name, 0) + 1
        names[j] = name if times == 1 else f"{name}:{times}"
    return names


def _phenotype(texts: list[str]) -> list[float | None] | list[str | None]:
    """The phenotype of the .fam file: -9 and NA are missing, and 0 where others are 1 and 2."""
    known = [None if text in NO_PHENOTYPE else text for text in texts]
    try:
        values = [None if text is None else float(text) for text in known]
    except ValueError:
        return known
    levels = {value for value in values if value is not None}
    if levels <= {0.0, 1.0, 2.0} and 2.0 in levels:
        return [value or None for value in values]
    return values
