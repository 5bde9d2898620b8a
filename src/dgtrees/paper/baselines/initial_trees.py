"""Trees to start from: CART, and random directions. Shapes and splits only, their leaves are 0."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["cart_tree", "random_tree"]

Split = tuple[np.ndarray, float, Any, Any]
"""Weights, bias, and what becomes of the left and the right side."""


def cart_tree(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    depth: int,
    classification: bool,
    seed: int,
) -> ObliqueTree:
    """scikit-learn's CART as an oblique tree whose nodes have one weight each.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot.
    """
    height = max(depth, 1)  # scikit-learn's least
    if classification:
        # Entropy, not Gini: its trees are more even (Letter, height 10: 80 % before a pass and 90
        # after some, against 70 and 85).
        grown = DecisionTreeClassifier(criterion="entropy", max_depth=height, random_state=seed)
    else:
        # Without a least number of rows, squared error spends its leaves on a few extreme targets
        # (Comp-Activ: RMSE 2.81 after some passes, with it 2.68). A quarter of an even share.
        fewest = max(1, len(X) >> (height + 2))
        grown = DecisionTreeRegressor(max_depth=height, min_samples_leaf=fewest, random_state=seed)
    grown.fit(X, target.argmax(axis=1) if classification else target, sample_weight=weight)
    cart = grown.tree_

    def split(node: int) -> Split | None:
        if depth == 0 or cart.children_left[node] < 0:
            return None
        w = np.zeros(X.shape[1])
        w[cart.feature[node]] = 1.0
        # CART's ties go left, ours right.
        b = -float(np.nextafter(cart.threshold[node], np.inf))
        return w, b, cart.children_left[node], cart.children_right[node]

    return _grow(0, split, X.shape[1], target.shape[1])


def random_tree(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    depth: int,
    classification: bool,
    seed: int,
) -> ObliqueTree:
    """Random directions, each cut at the median of the rows that come to it.

    Cuts drawn at random as well would leave most of the branches without rows.
    """
    random = np.random.RandomState(seed)

    def split(part: tuple[np.ndarray, int]) -> Split | None:
        rows, level = part
        w = random.normal(size=(X.shape[1],))
        along = X[rows] @ w
        cut = float(np.median(along))
        high = along >= cut
        if level == depth or high.all():
            return None
        return w, -cut, (rows[~high], level + 1), (rows[high], level + 1)

    return _grow((np.arange(len(X)), 0), split, X.shape[1], target.shape[1])


def _grow(
    root: Any, split: Callable[[Any], Split | None], features: int, outputs: int
) -> ObliqueTree:
    """The tree that comes of splitting, in level order, until `split` says None."""
    weights: list[np.ndarray] = []
    bias: list[float] = []
    children: list[list[int]] = []
    leaves = 0
    waiting: deque[tuple[Any, int, int]] = deque([(root, -1, 0)])
    while waiting:
        part, parent, side = waiting.popleft()
        found = split(part)
        if found is None:
            number, leaves = ~leaves, leaves + 1
        else:
            w, b, low, high = found
            number = len(weights)
            weights.append(w)
            bias.append(b)
            children.append([0, 0])
            waiting += [(low, number, 0), (high, number, 1)]
        if parent >= 0:
            children[parent][side] = number
    left, right = np.array(children, dtype=np.int32).reshape(-1, 2).T
    return ObliqueTree(
        np.array(weights).reshape(-1, features),
        np.array(bias),
        left,
        right,
        np.zeros((leaves, outputs)),
    )
