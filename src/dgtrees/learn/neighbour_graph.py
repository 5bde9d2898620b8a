"""NeighbourGraph: which rows lie near each other, for labels to pass along.

Exact nearest neighbours of rows, on their leading principal directions, by products of blocks of
rows, so that 60,000 rows take bounded memory. NumPy and SciPy only.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import ndtri

__all__ = ["SCALINGS", "nearest_rows", "neighbour_graph", "principal_columns", "scaled_columns"]

SCALINGS = ("standard", "plain", "ranks")
"""Columns of deviation 1; as they are, which suits pixels; or by normal scores, for long tails."""

_BLOCK_VALUES = 1 << 24
"""Distances held at once."""

_EXACT_COLUMNS = 1000
"""Up to so many columns, principal directions come from the matrix of all covariances."""

_PASSES, _SPARE = 4, 10
"""Of the search for a few directions among more columns."""


def scaled_columns(X: np.ndarray, scaling: str) -> np.ndarray:
    """Rows in the units that distances are taken in, float32, with mean 0."""
    X = np.asarray(X, dtype=np.float64)
    if scaling == "ranks":
        return _normal_scores(X).astype(np.float32)
    centred = X - X.mean(axis=0)
    if scaling == "standard":
        spread = centred.std(axis=0)
        centred /= np.where(spread > 0, spread, 1.0)
    else:  # one unit for all columns keeps squares within float32's range
        centred /= np.abs(centred).max(initial=0.0) or 1.0
    return centred.astype(np.float32)


def _normal_scores(X: np.ndarray) -> np.ndarray:
    """Every value as the normal deviate of its mean rank; equal values stay equal."""
    scores = np.empty_like(X)
    for column in range(X.shape[1]):
        _, place, count = np.unique(X[:, column], return_inverse=True, return_counts=True)
        below = np.cumsum(count) - 0.5 * count
        scores[:, column] = ndtri(below / len(X))[place]
    return scores - scores.mean(axis=0)


def principal_columns(X: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Rows (rows, d) of mean 0 along their leading principal directions, (rows, most or fewer).

    Distances are those along these directions: fewer of them leave out what is mostly noise.
    """
    d = X.shape[1]
    if d <= _EXACT_COLUMNS:
        _, vectors = np.linalg.eigh((X.T @ X).astype(np.float64))
        directions = vectors[:, ::-1][:, :most]
    else:
        random = np.random.default_rng([seed, 11])
        directions = random.standard_normal((d, min(d, most + _SPARE)))
        for _ in range(_PASSES):
            directions, _ = np.linalg.qr(X.T @ (X @ directions.astype(np.float32)))
        small = X @ directions.astype(np.float32)
        _, vectors = np.linalg.eigh((small.T @ small).astype(np.float64))
        directions = directions @ vectors[:, ::-1][:, :most]
    return X @ directions.astype(np.float32)


def nearest_rows(X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other rows of every row, nearest first, and their squared distances.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        float32, of mean 0: squares of large means would hide small distances.
    count : int
        Neighbours, below the number of rows.

    Returns
    -------
    index, squared : ndarray of shape (rows, count)
    """
    rows = len(X)
    square = np.einsum("ij,ij->i", X, X)
    index = np.empty((rows, count), dtype=np.int32)
    squared = np.empty((rows, count), dtype=np.float32)
    block = max(1, _BLOCK_VALUES // rows)
    transposed = np.ascontiguousarray(X.T)
    for start in range(0, rows, block):
        own = np.arange(start, min(rows, start + block))
        # A row's own square is the same for all its neighbours, and added at the end.
        distance = (-2.0 * X[own]) @ transposed
        distance += square
        distance[np.arange(len(own)), own] = np.inf
        near = np.argpartition(distance, count - 1, axis=1)[:, :count]
        far = np.take_along_axis(distance, near, axis=1)
        # Of equal distances the lower row first, whatever order the partition left them in.
        order = np.lexsort((near, far), axis=1)
        index[own] = np.take_along_axis(near, order, axis=1)
        squared[own] = np.take_along_axis(far, order, axis=1) + square[own, None]
    return index, np.maximum(squared, 0.0)


def neighbour_graph(index: np.ndarray, squared: np.ndarray) -> sparse.csr_array:
    """How near rows are, (rows, rows), symmetric, 0 but for neighbours; its eigenvalues are <= 1.

    A pair weighs exp(-squared distance / (reach of one x reach of the other)), a row's reach being
    the distance of its last neighbour, so that dense and thin regions count alike. Pairs of which
    one is the other's neighbour count; weights are divided by the roots of both rows' sums.
    """
    rows, count = index.shape
    reach = np.sqrt(squared[:, -1].astype(np.float64))
    some = reach[reach > 0]
    reach = np.where(reach > 0, reach, some.min() if some.size else 1.0)
    near = np.exp(-squared / (reach[:, None] * reach[index]))
    pointers = np.arange(0, rows * count + 1, count)
    one_way = sparse.csr_array((near.ravel(), index.ravel(), pointers), shape=(rows, rows))
    both = one_way.maximum(one_way.T).tocsr()
    root = 1.0 / np.sqrt(both.sum(axis=1))
    scale = sparse.dia_array((root[None], [0]), shape=(rows, rows))
    return (scale @ both @ scale).tocsr()
