"""Which answers have been learnt lately, so that one that comes twice is recognised.

The memory is bounded: the ids of the last `MOST` answers. A decision whose answer comes again after
so many others is learnt again.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from dgtrees.bandit.ids import read_id

__all__ = ["MOST", "Recent", "key_of"]

MOST = 65_536
"""Answers that are remembered; 16 bytes each in a file."""


class Recent:
    """The last ids learnt, oldest first.

    >>> recent = Recent(most=2)
    >>> for number in (1, 2, 3):
    ...     recent.add(number)
    >>> 1 in recent, 2 in recent, len(recent)
    (False, True, 2)
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._seen: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, key: int) -> bool:
        return key in self._seen

    def add(self, key: int) -> None:
        """Remember one more, and forget the oldest if there are too many."""
        self._seen[key] = None
        if len(self._seen) > self.most:
            del self._seen[next(iter(self._seen))]

    def to_array(self) -> np.ndarray:
        """Ids as (ids, 4) words of 32 bits, for a file."""
        data = b"".join(key.to_bytes(16, "little") for key in self._seen)
        return np.frombuffer(data, dtype="<i4").reshape(-1, 4).copy()

    @classmethod
    def from_array(cls, words: np.ndarray) -> Recent:
        """What `to_array` described."""
        if words.dtype.kind != "i" or words.ndim != 2 or words.shape[1] != 4 or len(words) > MOST:
            raise ValueError(
                f"recent ids must be at most {MOST} by 4 whole numbers, the file has "
                f"{words.dtype} of shape {words.shape}"
            )
        data = np.ascontiguousarray(words, dtype="<i4").tobytes()
        recent = cls()
        for start in range(0, len(data), 16):
            recent.add(int.from_bytes(data[start : start + 16], "little"))
        return recent


def key_of(id: str, action: Any = None) -> int | None:
    """What a decision is remembered by; of several actions at once, each by its own key.

    None where there is no id: such a decision cannot be recognised.
    """
    if not id:
        return None
    if action is None:
        return read_id(id)
    digest = blake2b(f"{id}/{action}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little")
