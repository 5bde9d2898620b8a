"""Rows and a descent for the tests of nn."""

import numpy as np

from dgtrees.learn.rows import Rows
from dgtrees.nn.layer_descent import LayerDescent


def rows(count=200, d=4, classes=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, d)).astype(np.float32)
    signal = X[:, 0] + np.abs(X[:, 1])
    return Rows(X, (signal > 0.7).astype(np.int64) if classes else signal[:, None])


def descent(recipe, classes=False, leaf="constant", depth=3, seed=0):
    return LayerDescent(4, 2 if classes else 1, depth, leaf, recipe, seed, classes)
