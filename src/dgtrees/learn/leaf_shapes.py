"""What a leaf of an unsupervised tree holds, and what a row costs there.

`Centres`: a point, and the squared distance to it. `Flats`: a point and a few directions, and the
squared distance to the flat that they span, which is the error of a code of that many numbers.
Both are refitted to their rows exactly: by the mean, and by the leading principal components.
"""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

__all__ = ["Centres", "Flats", "Shapes", "settle"]

_CHUNK_VALUES = 1 << 23
"""Numbers of one intermediate array at most."""


class Shapes(Protocol):
    """The leaves of a tree, or of a part of it, as `settle` and trees need them."""

    centres: np.ndarray

    def __len__(self) -> int: ...

    def take(self, chosen: np.ndarray) -> Self:
        """Some of them, by a mask or by numbers."""

    def costs(self, X: np.ndarray) -> np.ndarray:
        """What every row costs in every leaf, (rows, leaves)."""

    def costs_at(self, X: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """What every row costs in one of them, (rows,)."""

    def refit(self, X: np.ndarray, weight: np.ndarray, leaves: np.ndarray) -> Self:
        """The leaves that cost their rows least; a leaf without rows stays as it is."""


class Centres:
    """Points (leaves, d)."""

    def __init__(self, centres: np.ndarray) -> None:
        self.centres = centres

    def __len__(self) -> int:
        return len(self.centres)

    def take(self, chosen: np.ndarray) -> Centres:
        """Some of them, by a mask or by numbers."""
        return Centres(self.centres[chosen])

    def costs(self, X: np.ndarray) -> np.ndarray:
        """Squared distances, (rows, leaves)."""
        found = X @ (-2.0 * self.centres.T)
        found += np.square(X).sum(axis=1)[:, None]
        found += np.square(self.centres).sum(axis=1)
        return np.maximum(found, 0.0, out=found)

    def costs_at(self, X: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """Squared distance of every row to one of them, (rows,)."""
        return np.asarray(np.square(X - self.centres[leaves]).sum(axis=1))

    def refit(self, X: np.ndarray, weight: np.ndarray, leaves: np.ndarray) -> Centres:
        """Means of the rows of every leaf; a leaf without any stays as it is."""
        total = np.bincount(leaves, weight, minlength=len(self))
        found = self.centres.copy()
        sums = _sums(X, weight, leaves, len(self))
        found[total > 0] = sums[total > 0] / total[total > 0, None]
        return Centres(found)


class Flats:
    """Points (leaves, d), and orthonormal directions (leaves, rank, d) through them.

    Where a leaf has fewer rows than directions, those that are left over are 0.
    """

    def __init__(self, centres: np.ndarray, bases: np.ndarray) -> None:
        self.centres, self.bases = centres, bases

    def __len__(self) -> int:
        return len(self.centres)

    def take(self, chosen: np.ndarray) -> Flats:
        """Some of them, by a mask or by numbers."""
        return Flats(self.centres[chosen], self.bases[chosen])

    def costs(self, X: np.ndarray) -> np.ndarray:
        """Squared distances to the flats, (rows, leaves)."""
        leaves, rank, d = self.bases.shape
        found = Centres(self.centres).costs(X)
        flat = self.bases.reshape(leaves * rank, d).T
        shift = np.einsum("lrd,ld->lr", self.bases, self.centres)
        step = max(1, _CHUNK_VALUES // max(leaves * rank, 1))
        for start in range(0, len(X), step):
            codes = (X[start : start + step] @ flat).reshape(-1, leaves, rank) - shift
            found[start : start + step] -= np.square(codes, out=codes).sum(axis=2)
        return np.maximum(found, 0.0, out=found)

    def costs_at(self, X: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """Squared distance of every row to one of them, (rows,)."""
        found = np.empty(len(X))
        for leaf, rows in _rows_by_leaf(leaves):
            away = X[rows] - self.centres[leaf]
            found[rows] = np.square(away).sum(axis=1)
            found[rows] -= np.square(away @ self.bases[leaf].T).sum(axis=1)
        return np.maximum(found, 0.0, out=found)

    def refit(self, X: np.ndarray, weight: np.ndarray, leaves: np.ndarray) -> Flats:
        """Means and leading principal components of the rows of every leaf."""
        centres, bases = self.centres.copy(), self.bases.copy()
        for leaf, rows in _rows_by_leaf(leaves):
            centres[leaf] = np.average(X[rows], axis=0, weights=weight[rows])
            bases[leaf] = _leading(X[rows] - centres[leaf], weight[rows], bases.shape[1])
        return Flats(centres, bases)


def settle(
    shapes: Shapes, X: np.ndarray, weight: np.ndarray, rounds: int
) -> tuple[Shapes, np.ndarray]:
    """Assign rows to the cheapest leaf and refit, until nothing changes; costs (rows, leaves).

    Every leaf gets a row: one that lost all of its own takes the dearest row of a leaf of several.
    """
    before = None
    for _ in range(rounds):
        costs = shapes.costs(X)
        leaves = _all_occupied(costs, weight, costs.argmin(axis=1))
        if before is not None and np.array_equal(before, leaves):
            return shapes, costs
        shapes, before = shapes.refit(X, weight, leaves), leaves
    return shapes, shapes.costs(X)


def _all_occupied(costs: np.ndarray, weight: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    count = np.bincount(leaves, minlength=costs.shape[1])
    for leaf in np.flatnonzero(count == 0):
        paid = weight * costs[np.arange(len(leaves)), leaves]
        row = int(np.where(count[leaves] > 1, paid, -1.0).argmax())
        count[leaves[row]] -= 1
        leaves[row], count[leaf] = leaf, 1
    return leaves


def _sums(X: np.ndarray, weight: np.ndarray, leaves: np.ndarray, count: int) -> np.ndarray:
    """Weighted sums of the rows of every leaf, (leaves, d)."""
    sums = np.zeros((count, X.shape[1]))
    for leaf, rows in _rows_by_leaf(leaves):
        sums[leaf] = weight[rows] @ X[rows]
    return sums


def _rows_by_leaf(leaves: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Every leaf that has rows, and their numbers."""
    order = np.argsort(leaves, kind="stable")
    edges = np.flatnonzero(np.diff(leaves[order])) + 1
    return [(int(leaves[rows[0]]), rows) for rows in np.split(order, edges) if rows.size]


def _leading(away: np.ndarray, weight: np.ndarray, rank: int) -> np.ndarray:
    """The leading principal components (rank, d) of centred rows."""
    found = np.zeros((rank, away.shape[1]))
    scaled = away * np.sqrt(weight)[:, None]
    if len(away) <= away.shape[1]:
        _, _, parts = np.linalg.svd(scaled, full_matrices=False)
        kept = min(rank, len(away) - 1)
    else:
        parts = np.linalg.eigh(scaled.T @ scaled)[1].T[::-1]
        kept = min(rank, len(parts))
    # A direction may be turned round: its largest entry is positive, on every machine.
    chosen = parts[:kept]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=1)[:, None], axis=1)
    found[:kept] = chosen * np.where(largest < 0, -1.0, 1.0)
    return found
