"""Rows in the order of float32 values: keys of value and place, sorted by digits. Compiled."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["order_values", "place_of"]

_SHORT, _MEDIUM = 64, 1000
"""So many are sorted by insertion; so many by smaller digits, whose counts are cleared sooner."""

_BITS, _FEWER_BITS = 11, 8
_SIGN, _EVERY = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)
_HALF, _PLACE = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def place_of(key):
    """The place that a key is of."""
    return np.intp(key & _PLACE)


@njit(nogil=True, cache=True, apart=True)
def order_values(values, n, keys, spare):
    """Keys (uint64) of places 0 .. n - 1 in the order of values (float32), equal ones by place.

    The upper half of a key orders as its value does: bits of a positive float32 with the sign set,
    of a negative one all turned over.
    """
    bits = values.view(np.uint32)
    one = other = bits[0]
    two = True  # whether there are no more than two values, as in a column of yes and no
    for i in range(n):
        if bits[i] != one and bits[i] != other:
            two = two and one == other
            other = bits[i]
        word = bits[i] ^ (_EVERY if bits[i] & _SIGN else _SIGN)
        keys[i] = (np.uint64(word) << _HALF) | np.uint64(i)
    if two:
        _separate(keys, spare, n)
    elif n <= _SHORT:
        _insert(keys, n)
    elif n <= _MEDIUM:
        for turn in range(4):
            a, b = (keys, spare) if turn % 2 == 0 else (spare, keys)
            _sort_by_digit(a, b, n, np.uint64(32 + _FEWER_BITS * turn), _FEWER_BITS)
    else:
        _sort_by_digit(keys, spare, n, np.uint64(32), _BITS)
        _sort_by_digit(spare, keys, n, np.uint64(32 + _BITS), _BITS)
        _sort_by_digit(keys, spare, n, np.uint64(32 + 2 * _BITS), _BITS)
        for i in range(n):
            keys[i] = spare[i]


@njit(nogil=True, cache=True)
def _separate(keys, spare, n):
    """Keys of the smaller of two values first."""
    least = keys[0]
    for i in range(n):
        least = min(least, keys[i])
    lower, upper = 0, 0
    for i in range(n):
        if keys[i] >> _HALF == least >> _HALF:
            keys[lower] = keys[i]
            lower += 1
        else:
            spare[upper] = keys[i]
            upper += 1
    for i in range(upper):  # as a loop: NumPy's assignment takes a second to compile
        keys[lower + i] = spare[i]


@njit(nogil=True, cache=True)
def _insert(keys, n):
    for i in range(1, n):
        key, at = keys[i], i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@njit(nogil=True, cache=True)
def _sort_by_digit(keys, to, n, shift, bits):
    """Sort by some bits, keeping the order of equal ones."""
    mask = np.uint64((1 << bits) - 1)
    counts = np.zeros(1 << bits, np.int64)
    for i in range(n):
        counts[np.intp((keys[i] >> shift) & mask)] += 1
    for k in range(1, 1 << bits):
        counts[k] += counts[k - 1]
    for i in range(n - 1, -1, -1):
        digit = np.intp((keys[i] >> shift) & mask)
        counts[digit] -= 1
        to[counts[digit]] = keys[i]
