"""Ids of decisions: ULIDs, which sort by time and which no two makers share.

An id is 26 characters for 128 bits: 48 bits of milliseconds since 1970, 48 bits that every maker
draws from the system when it is made, and the last 32 bits count the policy's decisions. Only the
count is the same for the same seed. A maker belongs to one policy object in one process: forks,
copies and loaded policies have their own, and threads share one under the policy's lock.
"""

from __future__ import annotations

import base64
import re
import secrets
import time

from dgtrees.schema import shown

__all__ = ["IdMaker", "read_id", "time_of"]

_RFC = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_CROCKFORD = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TO_TEXT = bytes.maketrans(_RFC, _CROCKFORD)
_TO_DIGITS = str.maketrans(_CROCKFORD.decode(), "0123456789abcdefghijklmnopqrstuv")
_FORM = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


class IdMaker:
    """Makes ids that ascend, whatever the clock does.

    >>> maker = IdMaker()
    >>> first, second = maker.make(1), maker.make(2)
    >>> len(first), first < second
    (26, True)
    """

    def __init__(self) -> None:
        self._token = secrets.randbits(48)
        self._latest = 0

    def make(self, number: int) -> str:
        """The id of the policy's decision of this number; callers hold the policy's lock."""
        self._latest = max(self._latest, time.time_ns() // 1_000_000)
        bits = self._latest << 80 | self._token << 32 | number & 0xFFFF_FFFF
        # 20 bytes are 32 characters of 5 bits, of which the first 6 hold no bit of ours.
        text = base64.b32encode(bits.to_bytes(20, "big"))[6:]
        return text.translate(_TO_TEXT).decode("ascii")


def read_id(text: str) -> int:
    """The 128 bits of an id.

    >>> read_id("00000000000000000000000017")
    39
    """
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        raise ValueError(f"an id must be 26 characters as decide makes them, got {shown(text)}")
    return int(text.translate(_TO_DIGITS), 32)


def time_of(text: str) -> float:
    """When an id was made, in seconds since 1970.

    >>> time_of("01M0BM0D00" + "0" * 16)
    1787096478.72
    """
    return (read_id(text) >> 80) / 1000
