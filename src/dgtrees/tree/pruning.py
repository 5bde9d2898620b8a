"""Which nodes and leaves of a tree are left when some of its leaves are dropped or merged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgtrees.tree.topology import position

__all__ = ["select"]


def select(
    left: np.ndarray,
    right: np.ndarray,
    reached: np.ndarray,
    agree: Callable[[int, int], bool],
) -> tuple[list[int], np.ndarray, np.ndarray, list[int]]:
    """Keep reached nodes and leaves only, and merge sibling leaves that agree.

    Parameters
    ----------
    left, right : ndarray of shape (nodes,)
        As in `ObliqueTree`.
    reached : ndarray of bool, shape (nodes + leaves,)
    agree : callable(leaf, leaf)
        Whether two leaves give the same answer.

    Returns
    -------
    The nodes that stay, in level order, their new children, and the leaves that stay.

    Examples
    --------
    >>> left, right = np.array([1, -1, -3]), np.array([2, -2, -4])
    >>> reached = np.array([True, True, True, True, False, True, True])
    >>> select(left, right, reached, lambda a, b: False)
    ([0, 2], array([-1, -2], dtype=int32), array([ 1, -3], dtype=int32), [0, 2, 3])
    """
    nodes = len(left)
    stands_for = _stand_ins(left, right, reached, agree)
    root = int(stands_for[0])
    kept = [root] if root < nodes else []
    leaves = [] if root < nodes else [root - nodes]
    children: tuple[list[int], list[int]] = ([], [])
    # Top-down, level by level, so that the new numbers are in level order again.
    for node in kept:  # grows while we walk
        for new, side in zip(children, (left, right), strict=True):
            child = int(stands_for[position(int(side[node]), nodes)])
            if child < nodes:
                new.append(len(kept))
                kept.append(child)
            else:
                new.append(~len(leaves))
                leaves.append(child - nodes)
    new_left, new_right = (np.array(side, dtype=np.int32) for side in children)
    return kept, new_left, new_right, leaves


def _stand_ins(
    left: np.ndarray, right: np.ndarray, reached: np.ndarray, agree: Callable[[int, int], bool]
) -> np.ndarray:
    """What takes the place of every node and leaf, as positions among nodes, then leaves."""
    nodes = len(left)
    stands_for = np.arange(len(reached))
    for node in range(nodes - 1, -1, -1):  # bottom-up: children have larger numbers
        low, high = (position(int(side[node]), nodes) for side in (left, right))
        if not reached[low] or not reached[high]:
            stands_for[node] = stands_for[high if reached[high] else low]
        else:
            a, b = (int(stands_for[child]) - nodes for child in (low, high))
            if a >= 0 and b >= 0 and agree(a, b):
                stands_for[node] = nodes + a
    return stands_for
