"""Random numbers of compiled code: SplitMix64, whose state is a single counter."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["draw_uniform"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@njit(nogil=True)
def draw_uniform(random, stream):
    """The next number in [0, 1) of a stream."""
    random[stream] += _STEP
    bits = random[stream]
    bits = (bits ^ (bits >> _30)) * _MIX_1
    bits = (bits ^ (bits >> _27)) * _MIX_2
    bits = bits ^ (bits >> _31)
    return np.float64(bits >> _11) * 2.0**-53
