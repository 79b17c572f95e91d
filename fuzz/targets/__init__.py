"""All readers of files that someone else may have made."""

from fuzz.targets import (
    addresses,
    datasets,
    folders,
    genomes,
    journals,
    kinds,
    runs,
    studies,
    tables,
    writers,
)
from fuzz.targets.base import Target

MODULES = (
    tables, kinds, genomes, journals, runs, folders, writers, addresses, studies, datasets,
)  # fmt: skip
TARGETS: dict[str, Target] = {
    target.name: target for module in MODULES for target in module.TARGETS
}

__all__ = ["TARGETS", "Target"]
