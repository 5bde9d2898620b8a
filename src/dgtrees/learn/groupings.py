"""Ways to part the leaves below a node in two groups, for a plane to pass between.

Which parting costs least is not known before a plane has been fitted, so many are proposed:
2-means and pieces of k-means and of dendrograms of the centres, cuts along their principal
directions, and cuts of the graph of neighbours, in which leaves are near that share a boundary
with many rows close to it.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from dgtrees.learn.leaf_shapes import Centres, settle

__all__ = ["propose_groups"]

_SHARES = np.linspace(0.1, 0.9, 9)
_PIECES = (2, 3, 4, 5, 6)
_MOST_DENDROGRAM = 1024
"""Centres of a dendrogram at most: it takes the square of their number."""


def propose_groups(
    centres: np.ndarray, size: np.ndarray, costs: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Masks (leaves,) of the leaves on the right, no two of them the same parting.

    Parameters
    ----------
    centres : ndarray of shape (leaves, d)
    size : ndarray of shape (leaves,)
        Weight of their rows, above 0.
    costs : ndarray of shape (rows, leaves)
        Of some rows: who is nearest, and who is second.
    """
    count = len(centres)
    found: dict[bytes, np.ndarray] = {}

    def add(mask: np.ndarray) -> None:
        mask = np.asarray(mask, dtype=bool)
        mask = ~mask if mask[0] else mask
        if mask.any():
            found.setdefault(mask.tobytes(), mask)

    if count <= 8:
        for leaf in range(count):
            add(np.arange(count) == leaf)
    for pieces in (2, 2, 2, *_PIECES):
        if pieces < count:
            for part in _parts(_k_means(centres, size, pieces, rng)):
                add(part)
    if 2 < count <= _MOST_DENDROGRAM:
        for method in ("ward", "average", "complete"):
            joined = linkage(centres, method)
            for pieces in _PIECES:
                for part in _parts(fcluster(joined, pieces, "maxclust")):
                    add(part)
    for line in [*_principal(centres, size), *_of_neighbours(costs)]:
        order = np.argsort(line, kind="stable")
        share = np.cumsum(size[order]) / size.sum()
        for place in np.clip(np.searchsorted(share, _SHARES), 1, count - 1):
            mask = np.zeros(count, dtype=bool)
            mask[order[place:]] = True
            add(mask)
    return list(found.values())


def _parts(labels: np.ndarray) -> list[np.ndarray]:
    return [labels == label for label in np.unique(labels)]


def _k_means(
    centres: np.ndarray, size: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Which of a few clusters every centre is in; starts at centres far from each other."""
    chosen = [int(rng.choice(len(centres), p=size / size.sum()))]
    while len(chosen) < count:
        away = size * Centres(centres[chosen]).costs(centres).min(axis=1)
        total = away.sum()
        chance = away / total if total > 0 else None
        chosen.append(int(rng.choice(len(centres), p=chance)))
    _, costs = settle(Centres(centres[chosen]), centres, size, 20)
    return np.asarray(costs.argmin(axis=1))


def _principal(centres: np.ndarray, size: np.ndarray) -> list[np.ndarray]:
    """Places of the centres along their first principal directions."""
    away = centres - np.average(centres, axis=0, weights=size)
    directions = np.linalg.svd(away * np.sqrt(size)[:, None], full_matrices=False)[2]
    return [away @ direction for direction in directions[:4]]


def _of_neighbours(costs: np.ndarray) -> list[np.ndarray]:
    """Places of the leaves along the graph of neighbours: few rows lie between distant ones."""
    count = costs.shape[1]
    near = np.argsort(costs, axis=1, kind="stable")[:, : min(4, count)]
    more = np.take_along_axis(costs, near, axis=1)
    more -= more[:, :1].copy()
    typical = float(np.median(more[:, 1]))
    graph = np.zeros((count, count))
    for place in range(1, near.shape[1]):
        close = np.exp(-more[:, place] / typical) if typical > 0 else np.ones(len(more))
        np.add.at(graph, (near[:, 0], near[:, place]), close)
    graph += graph.T
    degree = np.sqrt(graph.sum(axis=1) + 1e-9)
    _, vectors = np.linalg.eigh(graph / np.outer(degree, degree))
    return [vectors[:, -place] / degree for place in range(2, min(4, count) + 1)]
