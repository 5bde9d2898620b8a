"""What a forest of very many trees would get wrong, from what a few say of rows they have not seen.

The error of few trees is larger by their scatter, which company takes away; the mean product of the
errors of two different trees, on a row that neither has seen, has no such part.
"""

from __future__ import annotations

import numpy as np

__all__ = ["PairErrors"]


class PairErrors:
    """Mean product of the errors of two trees, from what one tree after the other says.

    >>> errors = PairErrors(np.zeros((1, 1)))
    >>> for said in (1.0, 3.0):
    ...     errors.add(np.array([0]), np.array([[said]]))
    >>> errors.mean(np.ones(1))
    3.0
    """

    def __init__(self, target: np.ndarray) -> None:
        self._target = target
        self._sum, self._squares = np.zeros(target.shape), np.zeros(len(target))
        self._count = np.zeros(len(target))

    def add(self, rows: np.ndarray, outputs: np.ndarray) -> None:
        """What a tree says of rows that it has not seen."""
        error = outputs - self._target[rows]
        self._sum[rows] += error
        self._squares[rows] += np.square(error).sum(axis=1)
        self._count[rows] += 1

    def mean(self, weight: np.ndarray, stretched: bool = False) -> float:
        """Over all pairs of trees and rows unseen by both; infinite where there are none.

        Parameters
        ----------
        weight : ndarray of shape (rows,)
        stretched : bool
            Multiply first how far outputs are from the mean target by the factor, the same for all,
            that makes the result smallest.
        """
        some = np.flatnonzero((self._count > 1) & (weight > 0))
        if not some.size:
            return np.inf
        # All pairs count the same, so that rows of few pairs, which tell little, count little.
        others = self._count[some] - 1
        mass = weight[some] * self._count[some] * others
        products = np.square(self._sum[some]).sum(axis=1) - self._squares[some]
        error = float(weight[some] @ products)
        if stretched:
            target = self._target[some]
            away = target - mass @ target / mass.sum()
            spread = float(mass @ np.square(away).sum(axis=1))
            crossed = float((weight[some] * others) @ (self._sum[some] * away).sum(axis=1))
            explained, own = crossed + spread, error + 2.0 * crossed + spread
            # By two trees that say the opposite of each other, or of the truth, nothing is said.
            error = spread - (explained**2 / own if explained > 0.0 and own > 0.0 else 0.0)
        return float(error / mass.sum())
