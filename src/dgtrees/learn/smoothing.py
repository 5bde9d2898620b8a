"""Smoothing: targets for all rows that agree with labels, with a model's guesses, and next door.

The targets z of all rows minimise

    LABEL_PULL * sum over labelled rows |z - label|^2
    + z' (I - S) z                                  (S is a `neighbour_graph`)
    + strength * sum over rows |z - guess|^2

which is a sparse linear system, solved by conjugate gradients for many right-hand sides at once.
Labels may be known to some of them only: folds, each without the labels that it is judged by, are
solved side by side.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

__all__ = ["LABEL_PULL", "smooth"]

LABEL_PULL = 10.0
"""How much a known label counts, against 1 for all neighbours together."""

_MOST_STEPS = 500


def smooth(
    graph: sparse.csr_array,
    label: np.ndarray,
    known: np.ndarray,
    guess: np.ndarray,
    strength: float,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """Targets of all rows, (rows, columns); see the module docstring.

    Parameters
    ----------
    graph : sparse array of shape (rows, rows)
    label, known, guess : ndarray of shape (rows, columns)
        Labels, whether they are known (others are not looked at), and what a model guesses.
    strength : float
        Above 0, or parts of the graph without a label would have no solution.
    tolerance : float
        Largest error of the equations that is left, as a share of their right-hand side.
    """
    pull = LABEL_PULL * known
    aim = strength * guess + np.where(known, LABEL_PULL * label, 0.0)
    diagonal = 1.0 + strength + pull
    z = np.array(guess, dtype=np.float64)
    residual = aim - (diagonal * z - graph @ z)
    limit = tolerance * np.sqrt(np.square(aim).sum(axis=0))
    ready = residual / diagonal
    direction = ready.copy()
    product = (residual * ready).sum(axis=0)
    for _ in range(_MOST_STEPS):
        if (np.sqrt(np.square(residual).sum(axis=0)) <= limit).all():
            break
        moved = diagonal * direction - graph @ direction
        bend = (direction * moved).sum(axis=0)
        step = np.divide(product, bend, out=np.zeros_like(bend), where=bend > 0)
        z += step * direction
        residual -= step * moved
        ready = residual / diagonal
        before, product = product, (residual * ready).sum(axis=0)
        turn = np.divide(product, before, out=np.zeros_like(before), where=before > 0)
        direction = ready + turn * direction
    return z
