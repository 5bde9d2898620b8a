"""Bent numbers: a soft logarithm for columns of long tails, the same to the last bit everywhere.

With z = (x - center) / spread, a number becomes sign(z) 64 ((1 + |z|)^(1/64) - 1): near the centre
z itself, far from it nearly sign(z) log(1 + |z|), and always in the order of the numbers. The root
is six square roots, which IEEE 754 rounds correctly: Python, C and ONNX agree, as they would not
in a logarithm, of which every library has its own last digits.
"""

from __future__ import annotations

import numpy as np

__all__ = ["FARTHEST", "POWER", "ROOTS", "bend", "unbend"]

ROOTS = 6
POWER = float(2**ROOTS)

FARTHEST = 1e300
"""Distances from the centre, in spreads, are taken for no larger than that."""


def bend(values: np.ndarray, center: np.ndarray | float, spread: np.ndarray | float) -> np.ndarray:
    """Bent numbers; see the module docstring.

    >>> bend(np.array([-1e6, 0.0, 1.0, 1e6]), 0.0, 1.0).round(2)
    array([-15.42,   0.  ,   0.7 ,  15.42])
    """
    with np.errstate(over="ignore"):
        z = (values - center) / spread
    root = np.minimum(np.abs(z), FARTHEST) + 1.0
    for _ in range(ROOTS):
        root = np.sqrt(root)
    size = (root - 1.0) * POWER
    return np.where(z < 0.0, -size, size)


def unbend(bent: float, center: float, spread: float) -> float:
    """The number that is bent to this one, up to rounding; infinite where there is none.

    >>> round(unbend(float(bend(np.array(80.0), 30.0, 5.0)), 30.0, 5.0), 9)
    80.0
    """
    with np.errstate(over="ignore"):
        size = np.expm1(POWER * np.log1p(abs(np.float64(bent)) / POWER))
        return float(center + np.copysign(size, bent) * spread)
