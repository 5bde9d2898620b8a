"""The tree of an online learner, as it now is."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.state import AVERAGE, VALUE, Arena, view_state

__all__ = ["tree_of"]


def tree_of(arena: Arena, averaged: bool) -> ObliqueTree:
    """The tree on unscaled features, of averaged parameters or of those that learn.

    It answers as the learner does, except for rows with a feature beyond the standard deviations
    at which the recipe clips, and for rows within rounding of a node's boundary.
    """
    state = view_state(arena)
    nodes = np.array(state.mean_nodes if averaged else state.nodes, dtype=np.float64)
    leaves = np.array(state.mean_leaves if averaged else state.leaves)
    slopes = np.array(state.mean_slopes if averaged else state.slopes)
    bias = float(state.bias[AVERAGE if averaged else VALUE])
    centre, inverse = state.shift + state.mean, state.inverse_scale.copy()
    weights = nodes[:, :-1] * inverse
    values, leaf_weights = leaves.T + bias, None
    if len(slopes):
        unscaled = slopes[:, :-1] * inverse
        values = values + (slopes[:, -1] - unscaled @ centre)
        leaf_weights = np.broadcast_to(unscaled, (len(values), *unscaled.shape))
    return ObliqueTree.complete(weights, nodes[:, -1] - weights @ centre, values, leaf_weights)
