"""Genotypes in a PLINK file (.bed), two bits each; read by bed-reader, some columns at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.inputs.columns import ColumnFile, within
from tvselect.inputs.errors import SourceError
from tvselect.inputs.facts import LeftOut

MAGIC, SNP_MAJOR = b"\x6c\x1b", 1
HEADER_BYTES, PER_BYTE = 3, 4
VALUES = (2, 3, 1, 0)
"""What the two bits of a genotype stand for: copies of the first allele, 3 for missing."""
FOUR_VALUES = np.array(VALUES, np.uint8)[np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3].view(
    "<u4"
)[:, 0]
"""What a byte stands for, a byte for each of its four genotypes."""
BYTES_AT_ONCE = 2**26
count_genotypes = function("count_genotypes", "stored: u1[columns, bytes]\ncounts: i8[columns, 4]!")
"""Count what the pairs of bits of each column stand for."""


def load_bed_reader() -> Any:
    """The module bed_reader, or an error that says how to install it."""
    try:
        return import_module("bed_reader")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading PLINK files needs bed-reader: pip install 'tvselect[genetics]'"
        ) from None


@final
class BedFile(ColumnFile):
    """The genotypes of a .bed file: copies of the first allele, 0, 1 or 2, or missing.

    Parameters
    ----------
    path : str
    n_people, n_variants : int
        As the .fam and .bim files have them.

    Raises
    ------
    SourceError
        When it is no .bed file of this size, with the variants one after the other.
    """

    def __init__(self, path: str, n_people: int, n_variants: int) -> None:
        super().__init__(path, (n_people, n_variants))
        with open(path, "rb") as file:
            head = file.read(HEADER_BYTES)
        if head[:2] != MAGIC or len(head) < HEADER_BYTES:
            raise SourceError(f"{path} does not begin as a .bed file does", "write it again")
        if head[2] != SNP_MAJOR:
            raise SourceError(
                f"{path} has the genotypes of one person after the other",
                "write it again with a PLINK of today, which puts one variant after the other",
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

    @cached_property
    def _bed(self) -> Any:
        n_people, n_variants = self._whole_shape
        counts = {"iid_count": n_people, "sid_count": n_variants}
        with self._errors():
            return load_bed_reader().open_bed(self.path, **counts, skip_format_check=True)

    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Genotypes (rows, columns), by column; NaN where missing."""
        people, variants = within(self._rows, rows), within(self._columns, columns)
        index = (slice(None) if people is None else people, variants)
        with self._errors():
            found: NDArray[np.float64] = self._bed.read(index=index, dtype="float64", order="F")
        return found

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

    def useless(self) -> dict[int, LeftOut]:
        """Variants that nobody, or everybody has alike, and those without any value."""
        present = self.counts[:, :3]
        n_values = (present > 0).sum(axis=1)
        found = {j: LeftOut("no value") for j in np.flatnonzero(n_values == 0).tolist()}
        for j in np.flatnonzero(n_values == 1).tolist():
            found[j] = LeftOut("constant", str(int(present[j].argmax())))
        return found

    def with_missing(self) -> NDArray[np.int64]:
        """Variants with missing values."""
        return np.flatnonzero(self.counts[:, 3])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (ModuleNotFoundError, MemoryError):
            raise
        except Exception as error:  # bed-reader raises whatever it meets
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise SourceError(
                f"{self.path} cannot be read: {reason}", "it is damaged or has changed"
            ) from error
