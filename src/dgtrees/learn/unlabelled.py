"""Trees of rows without labels: from rows and first centres to a finished tree and its leaves.

Where there are many columns, planes are looked for among their leading principal components, which
takes less time and generalises better; the leaves are fitted to all columns in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.cuts import CutSettings
from dgtrees.learn.leaf_shapes import Centres, Flats, Shapes
from dgtrees.learn.partition import Partition, grow_partition
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Unlabelled", "fit_unlabelled"]

_MOST_COMPONENTS = 100
_MOST_ROWS = 50_000
"""Rows that a tree is grown from; it is refined on all."""


@dataclass(frozen=True)
class Unlabelled:
    """What was learnt: a tree whose leaves hold their own numbers, what they stand for, the path.

    `leaves` has the leaf of every row, `history` the total cost after growing and after each pass.
    """

    tree: ObliqueTree
    shapes: Shapes
    leaves: np.ndarray
    history: list[float]


def fit_unlabelled(
    X: np.ndarray,
    weight: np.ndarray,
    centres: np.ndarray,
    *,
    rank: int = 0,
    settings: CutSettings,
    passes: int = 10,
    starts: int = 1,
    seed: int = 0,
) -> Unlabelled:
    """The best of several trees with a leaf for every centre.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Distinct rows, at least as many as centres.
    weight : ndarray of shape (rows,)
    centres : ndarray of shape (leaves, d)
        Where leaves begin.
    rank : int
        Directions that every leaf has besides its centre; rows cost what these leave over.
    settings : CutSettings
    passes : int
        Most passes of refinement.
    starts : int
        Trees to grow; the cheapest is kept.
    seed : int
    """
    middle = np.average(X, axis=0, weights=weight)
    away = X - middle
    turn = _components(away, weight)
    rows = away if turn is None else away @ turn
    first = centres - middle if turn is None else (centres - middle) @ turn
    rng = np.random.default_rng(seed)
    best: tuple[Partition, list[float]] | None = None
    for _ in range(starts):
        grown = _grow(rows, weight, _shapes(first, rank), settings, rng)
        history = grown.refine(rows, weight, passes)
        if best is None or history[-1] < best[1][-1]:
            best = grown, history
    assert best is not None
    part, history = best
    weights = part.weights if turn is None else part.weights @ turn.T
    numbers = np.arange(len(centres), dtype=np.float64)[:, None]
    tree = ObliqueTree(weights, part.bias - weights @ middle, part.left, part.right, numbers)
    leaves = tree.apply(X)
    ends = part.shapes.centres if turn is None else part.shapes.centres @ turn.T
    shapes = _shapes(ends, rank)
    shapes = shapes.refit(away, weight, leaves)
    shapes.centres += middle
    return Unlabelled(tree, shapes, leaves, history)


def _shapes(centres: np.ndarray, rank: int) -> Shapes:
    """Leaves that have only centres so far."""
    if not rank:
        return Centres(centres)
    return Flats(centres, np.zeros((len(centres), rank, centres.shape[1])))


def _grow(
    rows: np.ndarray,
    weight: np.ndarray,
    shapes: Shapes,
    settings: CutSettings,
    rng: np.random.Generator,
) -> Partition:
    most = max(_MOST_ROWS, 10 * len(shapes))
    if len(rows) > most:
        some = np.sort(rng.choice(len(rows), most, replace=False))
        rows, weight = rows[some], weight[some]
    shapes = shapes.refit(rows, weight, Centres(shapes.centres).costs(rows).argmin(axis=1))
    return grow_partition(rows, weight, shapes, settings, rng)


def _components(away: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Leading principal directions (d, components) of centred rows; None where all are kept."""
    d = away.shape[1]
    if d <= _MOST_COMPONENTS:
        return None
    spread = (away * weight[:, None]).T @ away
    return np.ascontiguousarray(np.linalg.eigh(spread)[1][:, : -_MOST_COMPONENTS - 1 : -1])
