"""What counts as a number that comes from outside, in losses, decisions, rules and recipes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from dgtrees.schema import shown

__all__ = ["number", "shown", "whole_number"]


def number(name: str, value: object, advice: str = "") -> float:
    """A real number, not bool and not text, as a float; NaN and infinity are left to the caller.

    >>> number("loss", 3)
    3.0
    """
    if type(value) is float:  # nearly always, and quicker found out
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} must fit a float, got a larger number{advice}") from None
    raise ValueError(f"{name} must be a number, got {shown(value)}{advice}")


def whole_number(name: str, value: Any, low: int, high: int, advice: str = "") -> int:
    """A whole number within bounds, as an int.

    >>> whole_number("max_depth", 3, 1, 16)
    3
    """
    known = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not known or not low <= int(value) <= high:
        raise ValueError(
            f"{name} must be a whole number from {low} to {high}, got {shown(value)}{advice}"
        )
    return int(value)
