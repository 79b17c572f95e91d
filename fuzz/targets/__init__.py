"""All readers of files that someone else may have made."""

from fuzz.targets import (
    addresses,
    datasets,
    folders,
    journals,
    kinds,
    runs,
    studies,
    tables,
    writers,
)
from fuzz.targets.base import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (tables, kinds, journals, runs, folders, writers, addresses, studies, datasets)
    for target in module.TARGETS
}

__all__ = ["TARGETS", "Target"]
