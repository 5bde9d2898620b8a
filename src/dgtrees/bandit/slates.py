"""Several actions at once: so many different ones, each with an exact probability to be among them.

From the probabilities p of single draws come probabilities of inclusion: min(1, c p) with the c for
which they add up to k, so that certain actions stay certain and the others share what is left in
proportion. The k actions are then drawn by systematic sampling (Madow 1949): the inclusions are
laid end to end on a line of length k in random order, and the actions are those in which the points
u, u + 1, .., u + k - 1 fall, for one u uniform in [0, 1). An interval of length q is met with
probability q exactly, and no interval twice, as none is longer than 1.
"""

from __future__ import annotations

import numpy as np

__all__ = ["draw_slate", "inclusions"]

_LEAST = 1e-12  # chances below are none: their sums with others are rounding


def inclusions(chances: np.ndarray, k: int, merit: np.ndarray) -> np.ndarray:
    """Probability of every action to be among k, from those of a single draw; both (actions,).

    Where fewer than k have a chance in a single draw, others are included by `merit`, (actions,)
    too, best first; those of merit -inf never.

    >>> inclusions(np.array([0.7, 0.2, 0.1, 0.0]), 2, np.zeros(4)).round(3).tolist()
    [1.0, 0.667, 0.333, 0.0]
    """
    possible = chances > _LEAST
    short = k - np.count_nonzero(possible)
    if short >= 0:
        others = np.where(possible, -np.inf, merit)
        possible[np.argsort(-others, kind="stable")[:short]] = True
        return possible.astype(np.float64)
    found = np.zeros(len(chances))
    certain = np.zeros(len(chances), dtype=bool)
    while True:
        rest = possible & ~certain
        left = k - np.count_nonzero(certain)
        found[rest] = chances[rest] * (left / chances[rest].sum())
        over = rest & (found >= 1.0)
        if not over.any():
            return found
        found[over] = 1.0
        certain |= over


def draw_slate(included: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Actions drawn with these probabilities of inclusion, in random order.

    >>> draw_slate(np.array([1.0, 0.0, 1.0]), np.random.default_rng(0)).tolist()
    [0, 2]
    """
    order = rng.permutation(np.flatnonzero(included > 0))
    ends = np.cumsum(included[order])
    count = round(float(ends[-1]))
    # Rounding must neither lose the last point nor meet it twice.
    points = np.minimum(rng.random() + np.arange(count), np.nextafter(ends[-1], 0.0))
    found: np.ndarray = order[np.searchsorted(ends, points, side="right")]
    return found
