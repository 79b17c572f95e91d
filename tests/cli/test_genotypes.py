"""``tvs select study.bed``."""

import numpy as np
import pytest

from tests.cli.makers import QUICK
from tests.omics.genotypes import draw_genotypes, write_plink

pytest.importorskip("bed_reader")
SELECT = ("--phenotype", "p.tsv", "-t", "height", *QUICK)


@pytest.fixture
def study(here):
    genotypes = draw_genotypes(150, 40)
    genotypes[:, 4] = 1
    genotypes[:, 5] = -1
    rng = np.random.default_rng(0)
    height = 2.0 * (genotypes[:, 3] > 0) + genotypes[:, 7] + 0.5 * rng.normal(size=150)
    columns = [height, rng.normal(size=150), rng.integers(1, 3, 150), *rng.normal(size=(3, 150))]
    lines = ["IID\theight\tage\tsex\tPC1\tPC2\tincome"]
    for i, row in enumerate(zip(*columns, strict=True)):
        lines.append("\t".join([f"I{i}", *(f"{value:.4f}" for value in row)]))
    (here / "p.tsv").write_text("\n".join(lines[:-1]))
    return write_plink(here / "study", genotypes)


def names(found):
    return [variable["name"] for variable in found["selected"]]


def test_variants_with_covariates(answer, study):
    found = answer("select", study, *SELECT, "--covariates", "age,sex,PC1-PC2")
    assert found["always"] == ["age", "sex", "PC1", "PC2"]
    assert names(found)[:2] == ["rs3", "rs7"]
    assert (found["n_rows"], found["n_columns"]) == (149, 42)
    assert found["left_out"] == {
        "income": "not named by --covariates",
        "rs4": "constant (1 in every row)",
        "rs5": "no value in any row",
    }
    said = found["decisions"]
    assert "Columns stay in the file and are read as they are needed." in said
    assert "Part of every play: 'age', 'sex', 'PC1', 'PC2'." in said
    again = answer("resume", found["run"], "--plays", 70)
    assert names(again) == names(found)
    answer("transform", found["run"], study, "-o", "short.csv")


def test_without_covariates_nothing_but_variants_is_chosen_from(answer, study):
    found = answer("select", study, *SELECT)
    assert found["n_columns"] == 38
    assert names(found)[:2] == ["rs3", "rs7"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--covariates", "PC1-PC9"), "--covariates names 'PC3'"),
        (("--covariates", "PC2-PC1"), "'PC2-PC1' ends before it begins"),
        (("--covariates", "PC01-PC02"), "--covariates names 'PC01'"),
        (("--phenotype", "s3://bucket/p.tsv"), "--phenotype is a file of this machine"),
        (("-t", "rs3"), "'rs3' is a column of"),
        (("-t", "heigth"), "no column named 'heigth' in"),
        (("--phenotype", "none.tsv"), "none.tsv does not exist"),
    ],
)
def test_slips(failure, study, options, message):
    assert message in failure("select", study, *SELECT, *options)


def test_a_damaged_file(failure, study):
    study.write_bytes(study.read_bytes()[:-5])
    assert "it is cut off, or the three files do not belong together" in failure(
        "select", study, *SELECT
    )
