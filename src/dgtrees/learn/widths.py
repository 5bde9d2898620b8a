"""Widths of the linear layers whose product gives a tree's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

__all__ = ["PAPER_WIDTHS", "hidden_widths"]

PAPER_WIDTHS = {2: 240, 4: 600, 6: 1008, 8: 1530, 10: 2046}
"""Width of both hidden layers for L = 3 by height (the paper's table of hidden dimensions)."""


def hidden_widths(
    max_depth: int, n_layers: int, hidden: int | str | Sequence[int] = "paper"
) -> tuple[int, ...]:
    """Widths of the n_layers - 1 hidden linear layers.

    `hidden` is one width for all of them, a sequence of widths, or "paper" for the paper's table
    (heights between its rows take the next larger row's width).

    >>> hidden_widths(6, 3)
    (1008, 1008)
    >>> hidden_widths(6, 2, 128)
    (128,)
    """
    if n_layers == 1:
        return ()
    if hidden == "paper":
        height = next((h for h in sorted(PAPER_WIDTHS) if h >= max_depth), max(PAPER_WIDTHS))
        return (PAPER_WIDTHS[height],) * (n_layers - 1)
    widths = (hidden,) * (n_layers - 1) if isinstance(hidden, Integral) else hidden
    if (
        not isinstance(widths, Sequence)
        or isinstance(widths, str)
        or len(widths) != n_layers - 1
        or not all(isinstance(width, Integral) and int(width) >= 1 for width in widths)
    ):
        raise ValueError(
            f"hidden must be 'paper', a width of at least 1, or n_layers - 1 = {n_layers - 1} of "
            f"them, got {hidden!r}: change hidden or n_layers"
        )
    return tuple(int(width) for width in widths)
