"""What an action costs where the right one is known: every named loss, defined once.

Each takes an action and its target, single ones or arrays, and works in compiled code too. The
square is written as a power: Python, NumPy and Numba round that each in a way of their own, and
recorded runs have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgtrees.tree.compiled import njit

__all__ = ["CODES", "LOSSES", "absolute", "compute_loss", "huber", "squared", "zero_one"]


def zero_one(action: Any, label: Any) -> Any:
    """0 if the action is the label, 1 if not."""
    return 1.0 * (action != label)


def squared(action: Any, value: Any) -> Any:
    """The squared error."""
    return (action - value) ** 2


def absolute(action: Any, value: Any) -> Any:
    """The absolute error."""
    return abs(action - value)


def huber(action: float, value: float, bend: float = 0.1) -> float:
    """Half the squared error up to `bend`, and linear beyond; of single actions.

    >>> huber(1.0, 0.5)
    0.045000000000000005
    """
    error = abs(action - value)
    if error <= bend:
        return float(0.5 * error**2)
    return float(bend * (error - 0.5 * bend))


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "0-1": zero_one,
    "squared": squared,
    "absolute": absolute,
}
"""The losses that `simulate` knows by name; of labels the first, of values the others."""

CODES = {"squared": 0, "absolute": 1}
"""Codes of losses of values: kernels compare numbers, everybody else uses the names."""

_SQUARED = CODES["squared"]
_squared, _absolute = njit(nogil=True)(squared), njit(nogil=True)(absolute)


@njit(nogil=True)
def compute_loss(code, action, value):
    """The squared or the absolute error, in compiled code."""
    return _squared(action, value) if code == _SQUARED else _absolute(action, value)
