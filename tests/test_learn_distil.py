"""distil_tree: near what it imitates, in its units, on columns of any scale."""

import numpy as np
import pytest

from dgtrees.learn.distil import distil_tree

X = np.random.default_rng(0).normal(size=(800, 4)) * [1, 1e4, 1e-3, 0] + [0, 1e6, 0, 7]


def _rewards(X):
    """Expected rewards of three actions, in units of their own."""
    a, b = X[:, 0], (X[:, 1] - 1e6) / 1e4
    return 500 + 20 * np.column_stack([np.tanh(a), np.tanh(b), -np.tanh(a + b)])


@pytest.mark.parametrize(("leaf", "share"), [("constant", 0.85), ("linear", 0.9)])
def test_it_prefers_what_the_original_prefers_on_new_rows(leaf, share):
    tree = distil_tree(X, _rewards(X), 5, leaf, seed=1)
    new = X + np.random.default_rng(1).normal(size=X.shape) * [0.5, 5e3, 5e-4, 0]
    wanted, found = _rewards(new), tree.predict(new)
    assert (found.argmax(axis=1) == wanted.argmax(axis=1)).mean() > share
    assert np.square(found - wanted).mean() < 0.15 * np.var(wanted)


def test_the_same_seed_gives_the_same_tree_and_constant_columns_no_weight():
    one, other = (distil_tree(X, _rewards(X), 3, seed=2, n_steps=200) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert not one.weights[:, 3].any()


@pytest.mark.parametrize("rows", [1, 5])
def test_few_rows_and_equal_targets(rows):
    tree = distil_tree(X[:rows], np.full((rows, 2), 3.5), 3, n_steps=50)
    np.testing.assert_allclose(tree.predict(X[:rows]), 3.5, atol=1e-6)
