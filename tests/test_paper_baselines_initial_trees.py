"""Trees that TAO starts from."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier

from dgtrees.paper.baselines.initial_trees import cart_tree, random_tree

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_the_cart_start_is_cart(depth):
    X, y = IRIS
    tree = cart_tree(X, np.eye(3)[y], np.ones(len(X)), depth, True, 0)
    assert tree.depth == depth
    if depth:
        cart = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0).fit(
            X, y
        )
        # The same rows share a leaf; only the numbers of the leaves differ.
        pairs = set(zip(cart.apply(X).tolist(), tree.apply(X).tolist(), strict=True))
        assert len(pairs) == cart.get_n_leaves() == tree.n_leaves


def test_the_random_start_spreads_the_rows():
    X, y = DIABETES
    tree = random_tree(X, y[:, None], np.ones(len(X)), 4, False, 0)
    assert tree.n_leaves == 16
    assert np.bincount(tree.apply(X)).min() >= len(X) // 16 - 1
    few = random_tree(X[:5], y[:5, None], np.ones(5), 10, False, 0)
    assert few.n_leaves == 5
