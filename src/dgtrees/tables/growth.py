"""How much a compressed file may grow: some hundred bytes can stand for more than any memory.

Every reader of something compressed asks here, before it unpacks where the file says how much that
will be, and while it unpacks otherwise.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from dgtrees.errors import DataError

__all__ = ["VARIABLE", "Counted", "Unpacked", "check_growth"]

VARIABLE = "DGTREES_MAX_UNPACKED_GIB"
"""Environment variable with the most that a file may unpack to, in gibibytes."""

_TIMES = 200
_ALWAYS = 1 << 28


def check_growth(unpacked: int, packed: int, name: str) -> None:
    """Refuse more than 200 times the size of a file, and 256 MiB, or what the variable allows.

    >>> check_growth(5_000_000, 1_000, "small.csv.gz")
    >>> check_growth(5_000_000_000, 1_000_000, "bomb.csv.gz")
    Traceback (most recent call last):
    ...
    dgtrees.errors.DataError: ...1,000,000 bytes must not unpack to more than 0.25 GiB...
    """
    limit = _given_limit() or max(_ALWAYS, _TIMES * packed)
    if unpacked > limit:
        raise DataError(
            f"{name}: {packed:,} bytes must not unpack to more than {limit / 2**30:.3g} GiB, got "
            f"more: if you trust the file, set {VARIABLE} to the GiB it may take"
        )


def _given_limit() -> float:
    """The limit that the environment sets, in bytes; 0 if it sets none."""
    given = os.environ.get(VARIABLE)
    if not given:
        return 0.0
    try:
        size = float(given) * 2**30
    except ValueError:
        size = 0.0
    if not size > 0:
        raise DataError(f"{VARIABLE} must be a number above 0, got {given!r}: try 16")
    return size


class Counted:
    """A stream that knows how many bytes have been read from it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.count = stream, 0

    def read(self, size: int = -1) -> bytes:
        """As the stream's."""
        data: bytes = self._stream.read(size)
        self.count += len(data)
        return data


class Unpacked(io.RawIOBase):
    """What comes out of a decompressing stream, as far as it may grow.

    `packed` tells how many bytes have gone in.
    """

    def __init__(self, stream: Any, packed: Callable[[], int], name: str) -> None:
        self._stream, self._packed, self._name = stream, packed, name
        self._count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As the stream's; raises `DataError` where it grows too much."""
        count: int = self._stream.readinto(buffer)
        self._count += count
        check_growth(self._count, self._packed(), self._name)
        return count
