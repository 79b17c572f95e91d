"""The mutations of ``make check-mutations`` fit the sources as they are."""

from tests.exactness.mutations import mutations
from tests.exactness.patched import ROOT


def test_every_mutation_finds_its_text_and_its_tests():
    for mutation in mutations([]):
        assert mutation.old in (ROOT / "core" / mutation.file).read_text(), mutation.name
        names = [name for name in mutation.tests if not name.startswith("-")]
        assert all((ROOT / "tests" / name).exists() for name in names), mutation.name
