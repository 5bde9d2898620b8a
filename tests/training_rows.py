"""Rows and a trainer for the tests of learn."""

import numpy as np

from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples


def examples(rows=200, d=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    signal = X[:, 0] + np.abs(X[:, 1])
    y = (signal > 0.7).astype(int) if classes else signal[:, None]
    return Examples(X, y, np.ones(rows))


def trainer(rows, recipe, classes=0, leaf="constant", depth=3, seed=0):
    return Trainer(rows, max_depth=depth, leaf=leaf, recipe=recipe, n_classes=classes, seed=seed)
