"""Starts: the tree that training sets out from, as topology, nodes and leaves.

A start is a function of the training rows that returns a `Start`. Nodes without weights are drawn
at random, layer by layer; given ones are put into the last layer, which is solved for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.layout import Layout
from dgtrees.tree.topology import child_pointers, n_leaves

__all__ = ["Start", "draw_parameters", "random_start"]


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
    """

    left: np.ndarray
    right: np.ndarray
    depth: int
    values: np.ndarray
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None


def random_start(max_depth: int, n_outputs: int, random: np.random.Generator) -> Start:
    """A complete tree with random nodes and small random leaves."""
    left, right = child_pointers(max_depth)
    values = 0.1 * random.standard_normal((n_leaves(max_depth), n_outputs))
    return Start(left, right, max_depth, values)


def draw_parameters(layout: Layout, start: Start, random: np.random.Generator) -> np.ndarray:
    """The flat vector of parameters for a start: random layers, zero biases and slopes."""
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
    P[layout.leaves_at :] = start.values.ravel()
    return P


def _solve(weights: np.ndarray, product: np.ndarray | None) -> np.ndarray:
    """The last layer that gives the nodes these weights, as nearly as the others allow."""
    if product is None:
        return weights
    return np.linalg.lstsq(product[:, :-1].T, weights.T, rcond=None)[0].T
