"""Indices of a complete binary tree, and what lies below a node of any tree.

Owns the numbering that every other module relies on. Internal nodes are numbered in level
order 0 .. 2^h - 2; the children of node n are 2n + 1 (left) and 2n + 2 (right); leaf l is node
2^h - 1 + l. A row goes right if and only if w.x + b >= 0.

A child pointer is the number of an internal node, or ``~leaf`` (a negative number) for a leaf,
so that pruned trees, whose shape is not regular, use the same two arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "check_children",
    "child_pointers",
    "means_below",
    "n_internal",
    "n_leaves",
    "position",
]


def n_internal(height: int) -> int:
    """Number of decision nodes of a complete tree.

    >>> n_internal(3)
    7
    """
    return 2**height - 1


def n_leaves(height: int) -> int:
    """Number of leaves of a complete tree.

    >>> n_leaves(3)
    8
    """
    return 2**height


def child_pointers(height: int) -> tuple[np.ndarray, np.ndarray]:
    """Left and right child of every internal node of a complete tree; leaf l is written ``~l``.

    >>> child_pointers(2)
    (array([ 1, -1, -3], dtype=int32), array([ 2, -2, -4], dtype=int32))
    """
    count = n_internal(height)
    left = 2 * np.arange(count, dtype=np.int64) + 1

    def pointer(child: np.ndarray) -> np.ndarray:
        return np.where(child < count, child, ~(child - count)).astype(np.int32)

    return pointer(left), pointer(left + 1)


def check_children(left: np.ndarray, right: np.ndarray) -> None:
    """Refuse child pointers that do not form a tree: routing is then certain to end."""
    nodes = len(left)
    pointers = np.concatenate([left, right]).astype(np.int64)
    owners = np.tile(np.arange(nodes), 2)
    is_node = pointers >= 0
    leaves = np.arange(nodes + 1 if nodes else 0)
    if not (
        np.all(pointers[is_node] > owners[is_node])
        and np.array_equal(np.sort(pointers[is_node]), np.arange(1, nodes))
        and np.array_equal(np.sort(~pointers[~is_node]), leaves)
    ):
        raise ValueError(
            "left and right must form a tree: each node but the root, and each leaf, the child "
            "of exactly one node with a smaller number"
        )


def position(child: int, n_nodes: int) -> int:
    """A child pointer as an index among nodes, then leaves."""
    return child if child >= 0 else n_nodes + ~child


def means_below(tree: ObliqueTree, at_leaf: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Mean output below every node, then of every leaf: (nodes + leaves, outputs).

    Leaves count by their rows `at_leaf`; below a node that no row came to, both sides count the
    same.
    """
    mean = np.concatenate([np.zeros((tree.n_nodes, outputs.shape[1])), outputs])
    mass = np.concatenate(tree.totals(np.asarray(at_leaf, dtype=float)))
    for node in range(tree.n_nodes - 1, -1, -1):
        low, high = (position(side[node], tree.n_nodes) for side in (tree.left, tree.right))
        share = mass[high] / mass[node] if mass[node] > 0 else 0.5
        mean[node] = (1 - share) * mean[low] + share * mean[high]
    return mean
