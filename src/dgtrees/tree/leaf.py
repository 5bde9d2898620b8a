"""What leaves hold, constants or linear functions of the row, and all that depends on which.

A leaf type is a name here, an array of `ObliqueTree` and a branch in each of these functions; who
predicts, explains or draws asks them and does not look at the arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.tree import partial_routes, routing
from dgtrees.tree.inputs import split_rows

if TYPE_CHECKING:
    from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "CONSTANT",
    "LEAF_ARRAYS",
    "LEAF_KINDS",
    "LINEAR",
    "agree",
    "kind_of",
    "leaf_outputs",
    "move_from",
    "outputs_at",
    "rescale_outputs",
    "row_output",
    "unscale_inputs",
]

CONSTANT, LINEAR = LEAF_KINDS = "constant", "linear"
LEAF_ARRAYS = {"leaf_values": 2, "leaf_weights": 3}
"""Names of the arrays, by leaf, that a tree may have, and their numbers of axes."""


def kind_of(tree: ObliqueTree) -> str:
    """Name of the leaf type."""
    return CONSTANT if tree.leaf_weights is None else LINEAR


def leaf_outputs(
    tree: ObliqueTree, X: np.ndarray, leaves: np.ndarray, n_threads: int | None
) -> np.ndarray:
    """Outputs of rows that came to these leaves, (rows, outputs)."""
    if tree.leaf_weights is None:
        return tree.leaf_values[leaves]
    outputs = np.empty((X.shape[0], tree.n_outputs))
    linear = (leaves, tree.leaf_values, tree.leaf_weights)
    split_rows(
        lambda start, stop: partial_routes.linear_outputs(X, start, stop, *linear, outputs),
        X.shape[0],
        tree.n_outputs * tree.n_features,
        n_threads,
    )
    return outputs


def row_output(tree: ObliqueTree, x: np.ndarray) -> np.ndarray:
    """Outputs of one checked row; a view of `leaf_values` for constant leaves."""
    if tree.leaf_weights is None:
        return tree.leaf_values[routing.leaf_of_row(x, tree._packed)]
    output = np.empty(tree.n_outputs)
    routing.linear_of_row(x, tree._packed, tree.leaf_values, tree.leaf_weights, output)
    return output


def outputs_at(tree: ObliqueTree, row: np.ndarray | None) -> np.ndarray:
    """Outputs of every leaf (leaves, outputs) for a row, wherever it goes; at 0 without one."""
    if tree.leaf_weights is None or row is None:
        return tree.leaf_values
    outputs: np.ndarray = tree.leaf_values + tree.leaf_weights @ row
    return outputs


def move_from(
    tree: ObliqueTree, leaf: int, reference: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A leaf's outputs at the reference, and what every column of the rows adds to them.

    Shapes (outputs,) and (rows, columns, outputs).
    """
    if tree.leaf_weights is None:
        return tree.leaf_values[leaf], np.zeros((*rows.shape, tree.n_outputs))
    slope, away = tree.leaf_weights[leaf], rows - reference
    return tree.leaf_values[leaf] + slope @ reference, away[:, :, None] * slope.T[None]


def agree(tree: ObliqueTree, a: Any, b: Any) -> bool:
    """Whether two leaves answer the same for every row."""
    arrays = [getattr(tree, name) for name in LEAF_ARRAYS]
    return all(np.array_equal(array[a], array[b]) for array in arrays if array is not None)


def unscale_inputs(
    tree: ObliqueTree, center: np.ndarray, scale: np.ndarray
) -> dict[str, np.ndarray | None]:
    """The leaves on x that equal these on (x - center) / scale."""
    if tree.leaf_weights is None:
        return {"leaf_values": tree.leaf_values, "leaf_weights": None}
    weights = tree.leaf_weights / scale
    return {"leaf_values": tree.leaf_values - weights @ center, "leaf_weights": weights}


def rescale_outputs(
    tree: ObliqueTree, center: np.ndarray, scale: np.ndarray
) -> dict[str, np.ndarray | None]:
    """The leaves whose outputs are these times `scale` plus `center`."""
    weights = tree.leaf_weights
    return {
        "leaf_values": tree.leaf_values * scale + center,
        "leaf_weights": None if weights is None else weights * np.reshape(scale, (-1, 1)),
    }
