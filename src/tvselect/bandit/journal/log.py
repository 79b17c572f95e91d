"""The write-ahead log of SQLite: whether it holds plays that SQLite would leave out in silence."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24
PAGE_SIZES = tuple(2**k for k in range(9, 16))
WORDS = {0x377F0682: "<u4", 0x377F0683: ">u4"}  # of the checksums, by the log's first number
NATIVE = "<u4" if sys.byteorder == "little" else ">u4"


def hides_plays(log: bytes, page_size: int) -> bool:
    """Whether an intact commit lies behind damage.

    SQLite reads a log up to the first frame with a wrong checksum. What a killed writer
    leaves unfinished is the last of its salt in the log, and nobody misses it. An intact
    commit further on means that the damage came later, and that plays would be lost.

    A checksum goes on from that of the frame before: a frame is checked with that one alone.
    """
    if page_size not in PAGE_SIZES:  # the file is damaged, and SQLite will say so
        return False
    size = FRAME_HEADER_SIZE + page_size
    n_frames = (len(log) - HEADER_SIZE) // size
    if n_frames < 1:
        return False
    head = np.frombuffer(log, ">u4", HEADER_SIZE // 4).astype(np.uint32)
    words = WORDS.get(int(head[0]), NATIVE)
    frames = np.frombuffer(log, np.uint8, n_frames * size, HEADER_SIZE).reshape(n_frames, size)
    about = frames[:, :FRAME_HEADER_SIZE].copy().view(">u4").astype(np.uint32)
    content = np.delete(frames, np.s_[8:FRAME_HEADER_SIZE], axis=1).view(words)
    sums = about[:, 4:]
    is_intact = _checksums(np.vstack([head[6:], sums[:-1]]), content) == sums
    head_is_intact = _checksums(np.zeros((1, 2), np.uint32), _words(log[:24], words)) == head[6:]
    fits = is_intact.all(axis=1)
    if head_is_intact.all():
        fits &= (about[:, 2:4] == head[4:6]).all(axis=1)  # others remain of an earlier log
        n_read = n_frames if fits.all() else int(fits.argmin())
    else:
        n_read = 0
    is_commit = about[:, 1] > 0
    return bool((fits & is_commit)[n_read:].any())


def _words(content: bytes, words: str) -> NDArray[np.uint32]:
    return np.frombuffer(content, words)[None, :]


def _checksums(start: NDArray[np.uint32], content: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """SQLite's checksum of every row, each from a start of its own."""
    one, two = start[:, 0].copy(), start[:, 1].copy()
    for even, odd in content.T.copy().reshape(-1, 2, len(content)):
        one += even + two
        two += odd + one
    return np.column_stack([one, two])
