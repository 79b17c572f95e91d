"""From a sound file to a damaged one: bytes, cells of a table, values of a JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

MOST_BYTES = 1 << 16
MOST_CHANGES = 4
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
CELL_MARKS = re.compile(rb"[,;\t|\n]")
EXTREMES = (
    0, 1, -1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62,
    2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
ODD_NUMBERS = (
    b"0", b"-1", b"-0", b"1e308", b"-1e309", b"1e-320", b"nan", b"NaN", b"-inf", b"Infinity",
    b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1" * 400, b"9" * 5000,
    b"0x10", b"1_000", b"1,5", b"1.5.2", b"+", b"\xd9\xa3",
)  # fmt: skip
ODD_CELLS = (
    *ODD_NUMBERS, b"", b" ", b"NA", b"true", b"False", b'"', b'""', b'"a\nb"', b"'", b"\\", b"\0",
    b"\r", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"2024-01-01",
    b"2024-01-01 00:00:00.123456789", b"=1+1", b"x" * 3000,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", " ", "\0", "\ud800", "a\nb", "x" * 3000, "é" * 20, "1", "nan",
    ".", "*", "[", "a://b", "file:", [], {}, [[]], [None], {"": {}}, {"a": 1},
)  # fmt: skip
DEEP = 3000

Change = Callable[[bytes, Random, Sequence[bytes], Sequence[bytes]], bytes]


def mutate(
    data: bytes,
    rng: Random,
    seeds: Sequence[bytes],
    tokens: Sequence[bytes] = (),
    changes: Sequence[Change] = (),
) -> bytes:
    """A file with one to four changes; ``changes`` are those that know the format."""
    for _ in range(1 if rng.random() < 0.5 else rng.randint(2, MOST_CHANGES)):
        pool = changes if changes and rng.random() < 0.75 else BYTES
        data = rng.choice(pool)(data, rng, seeds, tokens)
    return data[:MOST_BYTES]


def _place(data: bytes, rng: Random) -> int:
    """Somewhere; often near an end, where formats keep what they say of themselves."""
    n = len(data)
    kind = rng.random()
    if kind < 0.2:
        return min(n, rng.randrange(64))
    if kind < 0.5:
        return max(0, n - 1 - rng.randrange(256))
    return rng.randint(0, n)


def _length(rng: Random) -> int:
    return 1 << rng.randrange(10) if rng.random() < 0.5 else rng.randint(1, 16)


def flip_bits(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Flip up to eight bits."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if out:
            out[min(_place(data, rng), len(out) - 1)] ^= 1 << rng.randrange(8)
    return bytes(out)


def set_bytes(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Overwrite a few bytes at random."""
    at, n = _place(data, rng), rng.randint(1, 8)
    return data[:at] + rng.randbytes(n) + data[at + n :]


def set_extreme(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Overwrite a binary number with an extreme one."""
    width = rng.choice((1, 2, 4, 4, 8, 8))
    value = rng.choice(EXTREMES) % (1 << (8 * width))
    at = _place(data, rng)
    if rng.random() < 0.5:
        at -= at % width
    return data[:at] + value.to_bytes(width, rng.choice(("little", "big"))) + data[at + width :]


def truncate(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Cut off the end, rarely the start."""
    at = _place(data, rng)
    return data[at:] if rng.random() < 0.1 else data[:at]


def remove(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Take a block out."""
    at = _place(data, rng)
    return data[:at] + data[at + _length(rng) :]


def duplicate(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Repeat a block, rarely hundreds of times."""
    at, n = _place(data, rng), _length(rng)
    times = rng.randint(2, 300) if rng.random() < 0.05 else rng.randint(1, 3)
    return data[: at + n] + data[at : at + n] * times + data[at + n :]


def move(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Copy a block over another place."""
    source, target, n = _place(data, rng), _place(data, rng), _length(rng)
    block = data[source : source + n]
    return data[:target] + block + data[target + len(block) :]


def splice(data: bytes, rng: Random, seeds: Sequence[bytes], tokens: Any) -> bytes:
    """Go on with the end of another file."""
    other = rng.choice(seeds)
    return data[: _place(data, rng)] + other[_place(other, rng) :]


def insert(data: bytes, rng: Random, seeds: Any, tokens: Sequence[bytes]) -> bytes:
    """Insert a word of the format, or noise."""
    at = _place(data, rng)
    word = rng.choice(tokens) if tokens and rng.random() < 0.8 else rng.randbytes(rng.randint(1, 8))
    over = len(word) if rng.random() < 0.3 else 0
    return data[:at] + word + data[at + over :]


def change_number(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Replace a number in a text by an odd one."""
    found = list(NUMBER.finditer(data))
    if not found:
        return insert(data, rng, seeds, ODD_NUMBERS)
    at = rng.choice(found)
    return data[: at.start()] + rng.choice(ODD_NUMBERS) + data[at.end() :]


BYTES: tuple[Change, ...] = (
    flip_bits, set_bytes, set_extreme, truncate, remove, duplicate, move, splice, insert,
)  # fmt: skip


def change_cell(data: bytes, rng: Random, seeds: Any, tokens: Sequence[bytes]) -> bytes:
    """Replace a cell of a table by an odd one."""
    marks = [match.start() for match in CELL_MARKS.finditer(data)]
    at = rng.randrange(len(marks) + 1)
    start = marks[at - 1] + 1 if at else 0
    stop = marks[at] if at < len(marks) else len(data)
    return data[:start] + rng.choice((*ODD_CELLS, *tokens)) + data[stop:]


def change_mark(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Replace what separates cells or lines, once or everywhere."""
    old = rng.choice((b",", b";", b"\t", b"\n", b".", b'"'))
    new = rng.choice((b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b'"', b"", b"\n\n", b"\0"))
    return data.replace(old, new) if rng.random() < 0.5 else data.replace(old, new, 1)


def change_lines(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Swap, drop or repeat a line."""
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 1:
        del lines[one]
    else:
        lines[one:one] = [lines[other]] * rng.choice((1, 1, 2, 50))
    return b"\n".join(lines)


TABLE: tuple[Change, ...] = (change_cell, change_cell, change_mark, change_lines, change_number)


def change_json(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Replace, drop, add or rename a value of a JSON text."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return insert(data, rng, seeds, (b"[", b"]", b"{", b"}", b",", b":", b'"', b"1e999"))
    kind = rng.random()
    if kind < 0.02:
        deep = b"[" * DEEP + b"]" * DEEP
        return data.replace(rng.choice((b"[]", b"{}", b"1", b"null", b'"')), deep, 1)
    places: list[tuple[Any, Any]] = []
    _walk(tree, places)
    if not places:
        return json.dumps(rng.choice(ODD_VALUES)).encode()
    holder, key = rng.choice(places)
    if kind < 0.65:
        holder[key] = rng.choice(ODD_VALUES)
    elif kind < 0.75:
        del holder[key]
    elif kind < 0.85:
        other, place = rng.choice(places)
        if isinstance(other, dict) or place < len(other):
            holder[key] = json.loads(json.dumps(other.get(place) if isinstance(other, dict)
                                                else other[place]))  # fmt: skip
    elif isinstance(holder, dict):
        holder[rng.choice(("", "x", f"{key} ", "schema", "\ud800"))] = holder.pop(key)
    else:
        holder[key:key] = [rng.choice(ODD_VALUES)] * rng.choice((1, 2, 100))
    return json.dumps(tree).encode()


def _walk(value: Any, places: list[tuple[Any, Any]]) -> None:
    if not isinstance(value, dict | list):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        places.append((value, key))
        _walk(item, places)


JSON: tuple[Change, ...] = (change_json, change_json, change_json, change_number)


def change_json_line(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Change the JSON of one line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = change_json(lines[at], rng, seeds, tokens)
    return b"\n".join(lines)


JSON_LINES: tuple[Change, ...] = (change_json_line, change_json_line, change_lines, change_number)
