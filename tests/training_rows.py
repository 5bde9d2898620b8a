"""Rows and a trainer for the tests of learn."""

import numpy as np

import reference
from dgtrees.learn.descent import Descent
from dgtrees.learn.rows import Rows
from dgtrees.learn.starts import Start
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


# Below the trainer: standardised rows, and trees of any shape under training


def plain_rows(count=100, d=4, outputs=2, classification=False, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, d)).astype(np.float32)
    if classification:
        y = rng.integers(outputs, size=count)
    else:
        y = (np.abs(X[:, :1]) + rng.normal(size=(count, outputs))).astype(np.float32)
    weight = rng.uniform(0.5, 1.5, count).astype(np.float32) if weighted else None
    return Rows(X, y, weight)


def any_descent(
    recipe, nodes=15, d=4, outputs=2, leaf="constant", classification=False, seed=0, moved=0.2
):
    """A tree of random shape, its parameters `moved` at random: biases and slopes begin at 0."""
    rng = np.random.default_rng(seed)
    start = Start(*reference.random_topology(nodes, rng), rng.normal(size=(nodes + 1, outputs)))
    descent = Descent(start, d, leaf, recipe, classification, seed)
    P = descent.parameters.values
    P += moved * rng.normal(size=P.shape).astype(np.float32)
    return descent


def parts_of(layout, flat):
    """Layers [(W, bias or None)], leaves' values and slopes of a flat vector, in float64."""
    flat, before, layers = flat.astype(np.float64), layout.n_features + 1, []
    for width, at, bias_at in zip(layout.widths, layout.weights_at, layout.biases_at, strict=True):
        W = flat[at : at + width * before].reshape(width, before)
        bias = flat[bias_at : bias_at + width] if bias_at >= 0 else None
        layers.append((W, bias) if layers else (W[:, :-1], W[:, -1]))
        before = int(width)
    shape = len(layout.left) + 1, layout.n_outputs
    values = flat[layout.leaves_at :].reshape(shape)
    slopes = flat[layout.slopes_at : layout.leaves_at]
    if not layout.linear:
        slopes = np.zeros(shape[0] * shape[1] * layout.n_features)
    return layers, values, slopes.reshape(*shape, layout.n_features)


def squared_loss(prediction, target):
    """Squared error as a loss of one's own: the same numbers, step by step."""
    error = prediction - target
    return np.square(error).mean(axis=1), 2 * error / error.shape[1]
