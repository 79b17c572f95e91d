"""How much of the paper is made again, and the pieces that are finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.records import ROOT, kept

Piece = dict[str, Any]
"""What a piece of work found, as JSON can hold it."""


@dataclass(frozen=True)
class Edition:
    """The whole of it, or what takes minutes."""

    folder: Path  #: Of finished pieces
    is_quick: bool
    n_jobs: int = 1
    at_most: int | None = None  #: Data sets, where the whole of it has more
    hiv: str | None = None  #: Folder of the HIV-1 data
    mail: str | None = None  #: File of the mail experiment

    @property
    def pieces(self) -> Path:
        """Where finished pieces are kept; those of a quick edition are others."""
        if self.is_quick:
            return self.folder / "quick"
        return self.folder / (f"at most {self.at_most}" if self.at_most else "whole")

    def either(self, whole: Any, quick: Any) -> Any:
        """The setting of this edition."""
        return quick if self.is_quick else whole

    def n_sets(self, whole: int, quick: int) -> int:
        """How many data sets."""
        n: int = self.either(whole, quick)
        return min(n, self.at_most or n)

    def piece(self, name: str, make: Callable[[], Piece]) -> Piece:
        """A piece of work: read if it is finished, else made and kept."""
        found: Piece = kept(self.pieces / f"{name}.json", make)
        return found


def save(figure: Any, name: str) -> str:
    """Write a figure of the page; returns the line that shows it."""
    images = ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    figure.savefig(images / f"paper_{name}.png", dpi=80)
    return f"![{name.replace('_', ' ')}](images/paper_{name}.png)"
