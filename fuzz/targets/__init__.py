"""All readers of files that someone else may have made, and the native core."""

from fuzz.targets import (
    addresses,
    core,
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
    core,
)  # fmt: skip
TARGETS: dict[str, Target] = {
    target.name: target for module in MODULES for target in module.TARGETS
}

__all__ = ["TARGETS", "Target"]
