"""Rows in the order of float32 values: keys of value and place, sorted by digits. Compiled."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["order_values", "place_of"]

_SHORT = 64
"""So many are sorted by insertion."""

_BITS = 11
_BUCKETS = 2**_BITS
_DIGIT = np.uint64(_BUCKETS - 1)
_SIGN, _EVERY = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)
_HALF, _PLACE = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def place_of(key):
    """The place that a key is of."""
    return np.intp(key & _PLACE)


@njit(nogil=True, cache=True)
def order_values(values, n, keys, spare):
    """Keys (uint64) of places 0 .. n - 1 in the order of values (float32), equal ones by place.

    The upper half of a key orders as its value does: bits of a positive float32 with the sign set,
    of a negative one all turned over.
    """
    bits = values.view(np.uint32)
    for i in range(n):
        word = bits[i] ^ (_EVERY if bits[i] & _SIGN else _SIGN)
        keys[i] = (np.uint64(word) << _HALF) | np.uint64(i)
    if n <= _SHORT:
        _insert(keys, n)
        return
    counts = np.empty(_BUCKETS, np.int64)
    _sort_by_digit(keys, spare, n, np.uint64(32), counts)
    _sort_by_digit(spare, keys, n, np.uint64(32 + _BITS), counts)
    _sort_by_digit(keys, spare, n, np.uint64(32 + 2 * _BITS), counts)
    keys[:n] = spare[:n]


@njit(nogil=True, cache=True)
def _insert(keys, n):
    for i in range(1, n):
        key, at = keys[i], i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@njit(nogil=True, cache=True)
def _sort_by_digit(keys, to, n, shift, counts):
    """Sort by some bits, keeping the order of equal ones."""
    counts[:] = 0
    for i in range(n):
        counts[np.intp((keys[i] >> shift) & _DIGIT)] += 1
    for k in range(1, _BUCKETS):
        counts[k] += counts[k - 1]
    for i in range(n - 1, -1, -1):
        digit = np.intp((keys[i] >> shift) & _DIGIT)
        counts[digit] -= 1
        to[counts[digit]] = keys[i]
