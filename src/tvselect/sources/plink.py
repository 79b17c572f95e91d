"""PLINK: a .bed file with its variants (.bim) and people (.fam), and what is known of these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table
from tvselect.inputs.arrow import as_target, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, fields_of
from tvselect.inputs.table import read_table, refuse_repeated
from tvselect.sources.bed import BedFile, load_bed_reader
from tvselect.sources.chunks import Chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.files import DataFile, find_files, hash_files
from tvselect.sources.stored import TableFiles

SUFFIXES = (".bed",)
UNKNOWN, ROWS_AT_ONCE = ".", 10_000
NO_PHENOTYPE = -9.0
CASE_OR_CONTROL = (0.0, 1.0, 2.0)
FAMILY, PERSON = ("fid", "#fid", "family", "family_id"), ("iid", "#iid", "id", "person", "sample")


class Variants(NamedTuple):
    """The variants of a .bim file."""

    names: list[str]  #: Their identifiers, or chromosome:position:alleles where they have none
    chromosomes: NDArray[np.str_]
    positions: NDArray[np.int64]


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
    """
    files = PlinkFiles(os.fspath(bed), find_files(bed, SUFFIXES))
    n_rows = files.bed.shape[0]
    front = _no_columns(n_rows) if people is None else read_table(people, what="people")
    if front.n_rows != n_rows:
        raise ValueError(
            f"people has {front.n_rows:,} rows, but {files.where} has {n_rows:,} people"
        )
    refuse_repeated([*front.names, *files.variants.names], files.where, "rename them")
    return front.beside(files.bed, files.variants.names)


class PlinkFiles(TableFiles):
    """A .bed file, its .bim and .fam files, and a table of the people's outcomes and covariates.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
        The .bed file.
    phenotypes : TableFiles, optional
        A table with a column ``IID`` (and ``FID`` where that is needed to tell people apart).
        Without one, the outcome is column ``phenotype`` of the .fam file; ``sex`` is there, too.

    Attributes
    ----------
    bed : BedFile
    variants : Variants
    people : pyarrow.Table
        What is known of the people, in the order of the .fam file.
    """

    by_column = True

    def __init__(
        self, where: str, files: Sequence[DataFile], phenotypes: TableFiles | None = None
    ) -> None:
        if len(files) > 1 or not files[0].is_local:
            raise SourceError(f"{where}: a PLINK file is read alone, from this machine")
        stem = Path(files[0].path).with_suffix("")
        beside = [find_files(f"{stem}{suffix}", (suffix,))[0] for suffix in (".bim", ".fam")]
        others = [] if phenotypes is None else phenotypes.files
        super().__init__(where, (*files, *beside, *others), "PLINK")
        ids, self.variants, of_fam = _read_metadata(files[0].path)
        self.bed = BedFile(files[0].path, len(ids), len(self.variants.names))
        self.n_rows = len(ids)
        self.people = of_fam if phenotypes is None else _in_order(phenotypes, ids, where)
        self.names = [*self.people.column_names, *self.variants.names]
        refuse_repeated(self.names, where, "rename the columns of the phenotypes")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What is known of the people, then the variants."""
        front = fields_of(self.people.column_names, self.people.schema.types)
        return (*front, *(Field(name, "number", "int8") for name in self.variants.names))

    @property
    def in_some(self) -> dict[str, int]:
        """There is one file."""
        return {}

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; of all of them where that is asked for, in memory."""
        pa = load("pyarrow")
        wanted = self.names if columns is None else list(columns)
        variants = self.places(name for name in wanted if name in self._place)
        genotypes = iter(self.bed.read(variants).T)
        arrays = [
            pa.array(next(genotypes), from_pandas=True).cast(pa.int8())
            if name in self._place
            else self.people[name]
            for name in wanted
        ]
        self.require_unchanged()
        return pa.table(arrays, names=wanted)

    def column(self, name: str) -> Any:
        """One column."""
        return self.read([name]).column(0)

    def head(self, n_rows: int) -> Any:
        """The first rows, of what is known of the people alone."""
        return self.people.slice(0, n_rows)

    def fingerprint(self) -> str:
        """A hash of names, sizes, both ends and samples: the genotypes may be many gigabytes."""
        self.require_unchanged()
        return hash_files(self.files, "")

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless it has these columns."""
        compare_columns(fields, self.fields, self.where, extra=extra)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """Ten thousand people or more at a time; columns are read as they are asked for."""
        *used, target = (field.name for field in fields)
        in_file = [name for name in used if name in self._place]
        front = [name for name in used if name not in self._place]
        variants = self.places(in_file)
        order = {name: j for j, name in enumerate((*front, *in_file))}
        n_rows, step = self.bed.shape[0], max(ROWS_AT_ONCE, 10 * size)
        starts = np.arange(0, n_rows, step)
        for first in starts if rng is None else rng.permutation(starts):
            rows = np.arange(first, min(first + step, n_rows))
            people = self.people.slice(int(first), rows.size)
            table = read_table(people.select(front)) if front else _no_columns(rows.size)
            table = table.beside(self.bed.at(rows, variants), in_file)
            table = table.take(np.array([order[name] for name in used]))
            yield Chunk(table, partial(as_target, people[target]))

    def places(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Where variants stand in the file."""
        return np.array([self._place[name] for name in names], dtype=np.int64)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.variants.names)}


def _no_columns(n_rows: int) -> Table:
    return Table.of_matrix(np.empty((n_rows, 0)), ())


def _read_metadata(path: str) -> tuple[list[tuple[str, str]], Variants, Any]:
    """The people (family and person), the variants, and what the .fam file says of the people."""
    open_bed = load_bed_reader().open_bed
    try:
        bed = open_bed(path, skip_format_check=True)
        ids = list(zip(map(str, bed.fid), map(str, bed.iid), strict=True))
        variants = Variants(_names(bed), np.asarray(bed.chromosome), np.asarray(bed.bp_position))
        sex = np.asarray(bed.sex, dtype=np.float64)
        phenotype = np.asarray(bed.pheno, dtype=np.str_)
    except OSError:
        raise
    except Exception as error:  # bed-reader raises whatever it meets
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"the .bim and .fam files of {path} cannot be read: {reason}",
            "they need six columns each, with blanks or tabs between them",
        ) from error
    if not ids or not variants.names:
        raise SourceError(f"{path} has {len(ids):,} people and {len(variants.names):,} variants")
    sex[sex == 0.0] = np.nan
    pa = load("pyarrow")
    of_fam = {
        "sex": pa.array(sex, from_pandas=True),
        "phenotype": pa.array(_phenotype(phenotype, path), from_pandas=True),
    }
    return ids, variants, pa.table(of_fam)


def _names(bed: Any) -> list[str]:
    """Identifiers of the variants; chromosome:position:alleles for those without or with a double.

    What is still there twice is numbered.
    """
    names = [str(name) for name in bed.sid]
    seen: dict[str, int] = {}
    columns = zip(names, bed.chromosome, bed.bp_position, bed.allele_1, bed.allele_2, strict=True)
    for j, (name, chromosome, position, first, second) in enumerate(columns):
        if name == UNKNOWN or name in seen:
            name = f"{chromosome}:{position}:{first}:{second}"
        times = seen[name] = seen.get(name, 0) + 1
        names[j] = name if times == 1 else f"{name}:{times}"
    return names


def _phenotype(text: NDArray[np.str_], path: str) -> NDArray[np.float64]:
    """The phenotype of the .fam file: -9 is missing, and 0 where the others are 1 and 2."""
    try:
        values = text.astype(np.float64)
    except ValueError:
        return np.full(text.size, np.nan)
    values[values == NO_PHENOTYPE] = np.nan
    if np.isin(values[~np.isnan(values)], CASE_OR_CONTROL).all():
        values[values == 0.0] = np.nan
    return values


def _in_order(phenotypes: TableFiles, ids: Sequence[tuple[str, str]], where: str) -> Any:
    """The rows of a table of people in the order of the .fam file; nulls where one is not there."""
    pa = load("pyarrow")
    table = phenotypes.read()
    by_name = {name.lower(): name for name in reversed(table.column_names)}
    person = next((by_name[name] for name in PERSON if name in by_name), None)
    family = next((by_name[name] for name in FAMILY if name in by_name), None)
    if person is None:
        raise SourceError(
            f"{phenotypes.where} has no column IID that says who is who; it has "
            f"{', '.join(table.column_names[:5])}",
            "name the column of the people's identifiers IID",
        )
    persons = _as_texts(table[person])
    keys: list[Any] = persons
    wanted: list[Any] = [one for _, one in ids]
    if family is not None and len(set(wanted)) < len(wanted):
        keys, wanted = list(zip(_as_texts(table[family]), persons, strict=True)), list(ids)
    place = {key: row for row, key in enumerate(keys)}
    if len(place) < len(keys):
        double = next(key for row, key in enumerate(keys) if place[key] != row)
        raise SourceError(
            f"{phenotypes.where} has several rows of {double!r}", "keep one row for a person"
        )
    rows = [place.get(key) for key in wanted]
    n_found = sum(row is not None for row in rows)
    if n_found == 0:
        raise SourceError(
            f"none of the people of {where} is in {phenotypes.where}; they are called "
            f"{wanted[0]!r} there and {keys[0] if keys else ''!r} here",
            "write the identifiers alike",
        )
    kept = [name for name in table.column_names if name not in (person, family)]
    return table.select(kept).take(pa.array(rows, pa.int64()))


def _as_texts(column: Any) -> list[str]:
    return [str(value) for value in column.to_pylist()]
