"""Centres and flats against what they mean, row by row."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dgtrees.learn.leaf_shapes import Centres, Flats, settle
from unlabelled_rows import blobs

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def shapes(kind, X, leaves, weight):
    start = Centres(X[:3].copy()) if kind == "centres" else Flats(X[:3].copy(), np.zeros((3, 2, 4)))
    return start.refit(X, weight, leaves)


@pytest.mark.parametrize("kind", ["centres", "flats"])
def test_costs_are_squared_distances_to_what_a_leaf_holds(kind):
    X, weight = blobs(60, 3), np.linspace(0.5, 2.0, 60)
    leaves = np.arange(60) % 3
    found = shapes(kind, X, leaves, weight)
    for leaf in range(3):
        away = X - found.centres[leaf]
        if kind == "flats":
            assert np.allclose(found.bases[leaf] @ found.bases[leaf].T, np.eye(2))
            away = away - away @ found.bases[leaf].T @ found.bases[leaf]
        assert np.allclose(found.costs(X)[:, leaf], np.square(away).sum(axis=1))
        assert np.allclose(
            found.costs_at(X, np.full(60, leaf)), np.square(away).sum(axis=1), atol=1e-12
        )
        mine = leaves == leaf
        assert np.allclose(found.centres[leaf], np.average(X[mine], axis=0, weights=weight[mine]))


def test_directions_are_principal_components():
    X = blobs(40, 1)
    found = shapes("flats", X, np.zeros(40, dtype=int), np.ones(40))
    wanted = PCA(2).fit(X).components_
    assert np.allclose(np.abs((found.bases[0] * wanted).sum(axis=1)), 1.0)


def test_a_leaf_of_few_rows_has_few_directions_and_misses_nothing():
    X = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found = Flats(X[:1], np.zeros((1, 2, 3))).refit(X, np.ones(2), np.zeros(2, dtype=int))
    assert np.allclose(found.bases[0, 1], 0.0)
    assert np.allclose(found.costs(X), 0.0)


def test_settling_is_k_means_and_leaves_nobody_without_rows():
    X = blobs(120, 5)
    weight = np.ones(120)
    start = Centres(np.concatenate([X[:4], [[1e3] * 4]]))  # the last is nearest to no row
    before = np.inf
    for rounds in (1, 2, 5, 30):
        found, costs = settle(start, X, weight, rounds)
        now = costs.min(axis=1).sum()
        assert now <= before + 1e-9
        before = now
    assert (np.bincount(costs.argmin(axis=1), minlength=5) > 0).all()
    again, _ = settle(found, X, weight, 1)
    assert np.allclose(again.centres, found.centres)
