"""PLINK: a .bed file with its variants (.bim) and people (.fam), and what is known of these."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table
from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import read_table, refuse_repeated
from tvselect.sources.bed import BedFile, load_bed_reader
from tvselect.sources.by_column import ColumnTable, in_order, no_columns
from tvselect.sources.files import DataFile, find_files
from tvselect.sources.stored import TableFiles

SUFFIXES = (".bed",)
UNKNOWN = "."
NO_PHENOTYPE = ("-9", "NA", "nan", "NaN", "")
CASE_OR_CONTROL = {0.0, 1.0, 2.0}


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
    >>> ThompsonSelector(groups="ld").fit(genotypes, height)  # doctest: +SKIP
    """
    files = PlinkFiles(os.fspath(bed), find_files(bed, SUFFIXES))
    n_rows = files.file.shape[0]
    front = no_columns(n_rows) if people is None else read_table(people, what="people")
    if front.n_rows != n_rows:
        raise ValueError(
            f"people has {front.n_rows:,} rows, but {files.where} has {n_rows:,} people"
        )
    refuse_repeated([*front.names, *files.in_file], files.where, "rename them")
    return front.beside(files.file, files.in_file)


@final
class PlinkFiles(ColumnTable):
    """A .bed file, its .bim and .fam files, and a table of the people's outcomes and covariates.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
        The .bed file.
    known : TableFiles, optional
        A table with a column ``IID`` (and ``FID`` where that is needed to tell people apart).
        Without one, the outcome is column ``phenotype`` of the .fam file; ``sex`` is there, too.
    """

    def __init__(
        self, where: str, files: Sequence[DataFile], known: TableFiles | None = None
    ) -> None:
        stem = Path(files[0].path).with_suffix("")
        beside = [find_files(f"{stem}{suffix}", (suffix,))[0] for suffix in (".bim", ".fam")]
        others = [] if known is None else known.files
        super().__init__(where, (*files, *beside, *others), "PLINK")
        ids, variants, of_fam = _read_metadata(files[0].path)
        bed = BedFile(files[0].path, len(ids), len(variants))
        self._hold(bed, variants, of_fam if known is None else in_order(known, ids, where))


def _read_metadata(path: str) -> tuple[list[tuple[str, str]], list[str], Any]:
    """The people (family and person), the variants, and what the .fam file says of the people."""
    open_bed = load_bed_reader().open_bed
    try:
        bed = open_bed(path, skip_format_check=True)
        ids = list(zip(map(str, bed.fid), map(str, bed.iid), strict=True))
        variants = _names(bed)
        sex = np.asarray(bed.sex, dtype=np.float64)
        phenotype = np.asarray(bed.pheno, dtype=np.str_)
    except OSError:
        raise
    except Exception as error:  # bed-reader raises whatever it meets
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"the .bim and .fam files of {path} cannot be read: {reason}",
            "they need six columns each, with tabs between them (in the .fam file blanks will do)",
        ) from error
    if not ids or not variants:
        raise SourceError(f"{path} has {len(ids):,} people and {len(variants):,} variants")
    sex[sex == 0.0] = np.nan
    pa = load("pyarrow")
    of_fam = {
        "sex": pa.array(sex, from_pandas=True),
        "phenotype": pa.array(_phenotype(phenotype)),
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


def _phenotype(texts: NDArray[np.str_]) -> list[float | None] | list[str | None]:
    """The phenotype of the .fam file: -9 and NA are missing, and 0 where others are 1 and 2."""
    known = [None if text in NO_PHENOTYPE else text for text in texts.tolist()]
    try:
        values = [None if text is None else float(text) for text in known]
    except ValueError:
        return known
    levels = {value for value in values if value is not None}
    if levels <= CASE_OR_CONTROL and 2.0 in levels:
        return [value or None for value in values]
    return values
