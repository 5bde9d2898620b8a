"""Starts: the tree that training sets out from, as topology, nodes and leaves.

A start is one function that returns a `Start`, from standardised rows if it looks at them:

* random: a complete tree with random nodes, drawn layer by layer, and small random leaves; these
  may be uniform within one over the square root of their number, as the paper's authors have them;
* pair: a complete tree whose nodes separate two of their rows that differ in the target, halving
  their rows at the median. Trees of many classes and leaves then learn in half of the steps;
* hinge (`learn.hinges`): a small complete tree with linear leaves, for regression;
* grown (`learn.grown`): a best-first axis-parallel tree on a topology of its own.

Given nodes are put into the last layer, which is solved for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.layout import Layout
from dgtrees.tree.topology import child_pointers, n_leaves

__all__ = ["Start", "draw_parameters", "leaf_values", "pair_start", "random_start"]

_PAIR_ROWS = 20_000
"""Rows that a pair start looks at: more would not change a median that matters."""

_PAIR_SPREAD = 0.1
"""Mean size of a node's activations over its rows at a pair start, that of random layers."""


@dataclass(frozen=True)
class Start:
    """A tree to begin with, on standardised rows.

    Parameters
    ----------
    left, right : ndarray of shape (nodes,)
        Children, as in `ObliqueTree`; parents come first.
    depth : int
        Most decisions on any path.
    values : ndarray of shape (leaves, outputs)
    weights, bias : ndarray of shape (nodes, d) and (nodes,), optional
        None for nodes drawn at random.
    slopes : ndarray of shape (leaves, outputs, d), optional
        Of linear leaves; None for 0.
    """

    left: np.ndarray
    right: np.ndarray
    depth: int
    values: np.ndarray
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None
    slopes: np.ndarray | None = None


def random_start(
    max_depth: int, n_outputs: int, random: np.random.Generator, uniform: bool = False
) -> Start:
    """A complete tree with random nodes and small random leaves."""
    left, right = child_pointers(max_depth)
    leaves = n_leaves(max_depth)
    bound = leaves**-0.5
    values = (
        random.uniform(-bound, bound, (leaves, n_outputs))
        if uniform
        else 0.1 * random.standard_normal((leaves, n_outputs))
    )
    return Start(left, right, max_depth, values)


def pair_start(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    max_depth: int,
    classification: bool,
    random: np.random.Generator,
) -> Start:
    """A complete tree whose nodes separate pairs of unlike rows; see the module docstring.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot. Rows of values are unlike when they come from the lowest and
        the highest third of a random combination of outputs.
    weight : ndarray of shape (rows,)
    """
    if not weight.all():  # rows of no weight have no mean, and no say
        X, target, weight = X[weight > 0], target[weight > 0], weight[weight > 0]
    if len(X) > _PAIR_ROWS:
        some = np.sort(random.permutation(len(X))[:_PAIR_ROWS])
        X, target, weight = X[some], target[some], weight[some]
    left, right = child_pointers(max_depth)
    nodes = len(left)
    weights, bias = np.zeros((nodes, X.shape[1])), np.zeros(nodes)
    rows_of: list[np.ndarray] = [np.arange(len(X))]
    for node in range(nodes):
        rows = rows_of[node]
        w = _unlike(X, target, weight, rows, classification, random)
        a = X[rows] @ w
        middle = _weighted_median(a, weight[rows])
        size = np.average(np.abs(a - middle), weights=weight[rows]) if rows.size else 0.0
        scale = _PAIR_SPREAD / size if size > 0 else 1.0
        weights[node], bias[node] = scale * w, -scale * middle
        goes_right = a >= middle
        rows_of += [rows[~goes_right], rows[goes_right]]
    leaf = np.zeros(len(X), dtype=np.int64)
    for number, rows in enumerate(rows_of[nodes:]):
        leaf[rows] = number
    values = leaf_values(leaf, nodes + 1, target, weight, classification)
    if classification:
        values *= 0.5  # half as sure as their rows: most of them will leave
    return Start(left, right, max_depth, values, weights, bias)


def _unlike(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    rows: np.ndarray,
    classification: bool,
    random: np.random.Generator,
) -> np.ndarray:
    """Direction from one row to an unlike one, of length 1; a random one where there is none."""
    w = np.zeros(X.shape[1])
    if rows.size > 1:
        if classification:
            first = _draw(rows, weight, random)
            others = rows[target[rows] @ target[first] == 0]
            if others.size:
                w = X[first] - X[_draw(others, weight, random)]
        else:
            order = rows[np.argsort(target[rows] @ random.standard_normal(target.shape[1]))]
            third = max(1, len(order) // 3)
            low, high = _draw(order[:third], weight, random), _draw(order[-third:], weight, random)
            w = X[high] - X[low]
    if not w.any():
        w = random.standard_normal((X.shape[1],))
    return w / np.linalg.norm(w)


def _draw(rows: np.ndarray, weight: np.ndarray, random: np.random.Generator) -> int:
    """One of the rows, by their weights."""
    total = np.cumsum(weight[rows])
    return int(rows[np.searchsorted(total, random.random() * total[-1])])


def _weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    if not values.size:
        return 0.0
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(total, 0.5 * total[-1])]])


def leaf_values(
    leaf: np.ndarray, n_leaves: int, target: np.ndarray, weight: np.ndarray, classification: bool
) -> np.ndarray:
    """Log class shares or means of the rows of every leaf, with one row's worth of all rows."""
    sums = np.zeros((n_leaves, target.shape[1]))
    np.add.at(sums, leaf, target * weight[:, None])
    mass = np.bincount(leaf, weights=weight, minlength=n_leaves)[:, None]
    pseudo = weight.mean()
    mean = np.average(target, axis=0, weights=weight)
    values = (sums + pseudo * mean) / (mass + pseudo)
    return np.log(np.maximum(values, 1e-3)) if classification else values


def draw_parameters(layout: Layout, start: Start, random: np.random.Generator) -> np.ndarray:
    """The flat vector of parameters for a start: random layers, zero biases (and slopes)."""
    P = np.zeros(layout.size, dtype=np.float32)
    before, product = layout.n_features, None
    last = len(layout.widths) - 1
    for i, (width, at) in enumerate(zip(layout.widths, layout.weights_at, strict=True)):
        bound = before**-0.5
        W = random.uniform(-bound, bound, (width, before))
        if i == last and start.weights is not None:
            W = _solve(start.weights, product)
        if i == 0:
            W = np.hstack([W, np.zeros((width, 1))])
        P[at : at + W.size] = W.ravel()
        product = W if product is None else W @ product
        before = int(width)
    if start.bias is not None:
        if last == 0:
            P[: layout.widths[0] * (layout.n_features + 1)].reshape(-1, layout.n_features + 1)[
                :, -1
            ] = start.bias
        else:
            at = layout.biases_at[last]
            P[at : at + len(start.bias)] = start.bias
    if start.slopes is not None:
        P[layout.slopes_at : layout.slopes_at + start.slopes.size] = start.slopes.ravel()
    P[layout.leaves_at :] = start.values.ravel()
    return P


def _solve(weights: np.ndarray, product: np.ndarray | None) -> np.ndarray:
    """The last layer that gives the nodes these weights, as nearly as the others allow."""
    if product is None:
        return weights
    return np.linalg.lstsq(product[:, :-1].T, weights.T, rcond=None)[0].T
