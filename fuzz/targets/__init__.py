"""All readers of files that someone else may have made."""

from fuzz.targets import addresses, datasets, folders, journals, runs, studies, tables
from fuzz.targets.base import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (tables, journals, runs, folders, addresses, studies, datasets)
    for target in module.TARGETS
}

__all__ = ["TARGETS", "Target"]
