"""Rows in canonical form: equal rows merged, weights added up, an order of their own.

A row of weight 2 and the same row given twice mean the same thing, and neither the order of a
table nor rows of weight 0 mean anything. Training on canonical rows makes all of that exact: the
same table in any of these guises gives the same model, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Examples", "bootstrap", "hash_rows", "hold_out", "merge_repeated"]

_CHUNK_ROWS = 4096
_MOST_DRAWS = 2**53  # beyond, a count of rows is no longer exact


@dataclass(frozen=True)
class Examples:
    """Encoded rows (rows, d), classes (rows,) or values (rows, outputs), weights (rows,).

    `number` says which of them each row of the table became, -1 for one of weight 0.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    number: np.ndarray | None = None


def hash_rows(values: np.ndarray) -> np.ndarray:
    """A 64-bit hash of every row of floats that depends on its content only, shape (rows,)."""
    columns = values.shape[1]
    factors = np.random.RandomState(20220901).randint(0, 2**63, size=columns, dtype=np.uint64)
    factors = factors * np.uint64(2) + np.uint64(1)
    result = np.empty(values.shape[0], dtype=np.uint64)
    for start in range(0, values.shape[0], _CHUNK_ROWS):
        # Adding 0.0 turns -0.0, which is equal to 0.0 but has other bits, into 0.0.
        chunk = np.ascontiguousarray(values[start : start + _CHUNK_ROWS], dtype=np.float64) + 0.0
        bits = chunk.view(np.uint64)
        # Low bits of a float are mostly zero: fold the high half in before multiplying.
        mixed = (bits ^ (bits >> np.uint64(32))) * factors
        mixed ^= mixed >> np.uint64(29)
        result[start : start + _CHUNK_ROWS] = (mixed * factors).sum(axis=1, dtype=np.uint64)
    return result


def merge_repeated(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows (X, y) of positive weight with their total weight, in canonical order.

    And, for every row given, the number of the distinct row that it is, or -1.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    y : ndarray of shape (rows, outputs)
    weight : ndarray of shape (rows,)

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> y = np.array([[0.0], [1.0], [0.0]])
    >>> X, y, weight, number = merge_repeated(X, y, np.ones(3))
    >>> sorted(zip(X[:, 0].tolist(), weight.tolist()))
    [(1.0, 2.0), (2.0, 1.0)]
    >>> X[number, 0]
    array([1., 2., 1.])
    """
    used = np.flatnonzero(weight > 0)
    key = hash_rows(X)[used] ^ (hash_rows(y)[used] * np.uint64(0x9E3779B97F4A7C15))
    order = np.argsort(key, kind="stable")
    rows, key = used[order], key[order]
    # Equal hashes are neighbours now; equality itself is checked on the values.
    starts = np.ones(len(rows), dtype=bool)
    same = np.flatnonzero(key[1:] == key[:-1])
    if same.size:
        a, b = rows[same], rows[same + 1]
        equal = (X[a] == X[b]).all(axis=1) & (y[a] == y[b]).all(axis=1)
        starts[same[equal] + 1] = False
    first = np.flatnonzero(starts)
    kept = rows[first]
    number = np.full(len(X), -1)
    number[rows] = np.cumsum(starts) - 1
    total = np.add.reduceat(weight[rows], first) if first.size else weight[:0]
    return X[kept], y[kept], total, number


def bootstrap(weight: np.ndarray, share: float, seed: int) -> np.ndarray:
    """How often every (distinct) row is drawn, when rows are drawn with replacement.

    A row of weight 2 is two rows. `share` is the number of draws as a share of the rows' total
    weight, or of their number where that is more (weights below 1 say nothing about a count).

    >>> counts = bootstrap(np.ones(1000), 0.5, seed=0)
    >>> int(counts.sum()), int(counts.max()) > 1
    (500, True)
    """
    total = weight.sum()
    draws = max(1, round(share * min(max(total, len(weight)), _MOST_DRAWS)))
    return np.random.default_rng(seed).multinomial(draws, weight / total)


def hold_out(examples: Examples, fraction: float, seed: int) -> tuple[Examples, Examples]:
    """Split off a random share of the (distinct) rows; returns the rest and the share."""
    rows = len(examples.X)
    held = int(np.ceil(fraction * rows))
    if held >= rows:
        raise ValueError(
            f"validation_fraction={fraction} leaves no training rows out of {rows} distinct ones: "
            "choose a smaller fraction or give more rows"
        )
    order = np.random.RandomState(seed).permutation(rows)

    def take(part: np.ndarray) -> Examples:
        part = np.sort(part)
        return Examples(examples.X[part], examples.y[part], examples.weight[part])

    return take(order[held:]), take(order[:held])
