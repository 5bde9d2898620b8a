"""Losses as they come from outside, checked and brought to the units that the step learns in.

What becomes of them is in `tree.online_update` and `tree.online`: for classes the derivative of the
loss by the score of the chosen action (eqn:classficationg, or its logistic form), weighted by
1 / p; for continuous actions a slope from one loss (eqn:onepoint, with the running mean subtracted)
or from two (eqn:twopoint).
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from dgtrees.bandit.checks import number, shown

__all__ = ["Range", "check_loss", "check_range", "loss_pair", "loss_share"]

LARGEST_LOSS = 1e12
"""Nodes learn in float32, where the squares of larger slopes overflow."""

Range = tuple[float, float]


def check_range(name: str, low: object, high: object) -> Range:
    """Two finite numbers, the first below the second by enough to tell numbers between them."""
    try:
        ends = number(name, low), number(name, high)
    except ValueError:
        ends = (float("nan"), 0.0)
    width = ends[1] - ends[0]
    if not isfinite(width):
        raise ValueError(
            f"{name} must be two finite numbers, and their difference too, "
            f"got {shown(low)} and {shown(high)}"
        )
    if width <= 0:
        raise ValueError(f"{name} must ascend, got {low!r} and {high!r}: exchange them")
    if width < max(1e-300, 1e-9 * max(abs(ends[0]), abs(ends[1]))):
        raise ValueError(
            f"{name} must lie further apart for numbers between them to differ, "
            f"got {low!r} and {high!r}: measure from another zero"
        )
    return ends


def loss_share(loss: object, low: float, high: float) -> float:
    """A loss as a share of its range, 0 the best.

    >>> loss_share(3, 2.0, 6.0)
    0.25
    """
    value = _number(loss)
    if not low <= value <= high:
        raise ValueError(
            f"loss must lie between {low:g} and {high:g}, got {loss!r}: "
            "give the policy the loss_range that your losses have"
        )
    return (value - low) / (high - low)


def loss_pair(loss: object, points: int) -> tuple[float, float]:
    """The loss of one action, or the losses of two.

    >>> loss_pair([1.5, 2.5], points=2)
    (1.5, 2.5)
    """
    if points == 1:
        value = check_loss(loss)
        return value, value
    pair = list(loss) if np.iterable(loss) and not isinstance(loss, (str, bytes, dict, set)) else []
    if len(pair) != 2:
        raise ValueError(
            f"two-point feedback needs a pair of losses, got {shown(loss)}: give them in the "
            "order of decision.actions"
        )
    return check_loss(pair[0]), check_loss(pair[1])


def check_loss(loss: object, name: str = "loss") -> float:
    """A finite loss, or reward, of a size that can be learnt.

    >>> check_loss(-3)
    -3.0
    """
    value = number(name, loss, ": leave it out")
    if not abs(value) <= LARGEST_LOSS:
        raise ValueError(
            f"{name} must be a number of at most {LARGEST_LOSS:g}, got {loss!r}: "
            "leave it out, or measure in a larger unit"
        )
    return value


def _number(loss: object) -> float:
    return number("loss", loss, ": leave it out")
