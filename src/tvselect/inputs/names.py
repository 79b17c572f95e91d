"""Names of columns that have none: x0, x1, ... without storing millions of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import final, overload

PATTERN = re.compile(r"x(0|[1-9][0-9]*)")


@final
class Numbered(Sequence[str]):
    """The names ``x0``, ``x1``, ... of columns, made when they are asked for.

    Equal to a tuple or list of the same names.

    Examples
    --------
    >>> names = Numbered(10_000_000)
    >>> names[9_999_999], names.index("x12"), "x012" in names
    ('x9999999', 12, False)
    >>> names[:2]
    ('x0', 'x1')
    """

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        """Number of names."""
        return self._n

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        """One name, or a tuple of neighbours."""
        numbers = range(self._n)[place]
        return tuple(map(_name, numbers)) if isinstance(numbers, range) else _name(numbers)

    def __iter__(self) -> Iterator[str]:
        """All names, one after the other."""
        return map(_name, range(self._n))

    def __contains__(self, name: object) -> bool:
        """Whether a column has this name."""
        match = PATTERN.fullmatch(name) if isinstance(name, str) else None
        return match is not None and int(match[1]) < self._n

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The column of a name."""
        if name in self and int(name[1:]) in range(self._n)[start:stop]:
            return int(name[1:])
        raise ValueError(f"{name!r} is not among the names")

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same names."""
        if isinstance(other, Numbered):
            return self._n == other._n
        if not isinstance(other, tuple | list) or len(other) != self._n:
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        """As of a tuple of them."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """How many there are; not all of them."""
        return f"Numbered({self._n})"


def _name(number: int) -> str:
    return f"x{number}"
