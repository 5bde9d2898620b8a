"""A small tree whose leaves are linear functions, for a boosted sum: all outputs in one tree.

Nodes cut the rows where two planes through them cross (`_hinge_splits`), in a few columns drawn
for the node; of several outputs, planes fit a random mixture. A leaf is a ridge regression of all
outputs on the columns drawn for the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn._hinge_splits import find_hinge
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["LINEAR_ROWS", "LINEAR_SHARE", "LinearGrowth", "grow_linear", "growth_of"]

LINEAR_SHARE, LINEAR_ROWS = 0.7, 5000
"""Share of the rows that each such tree is grown on, and most of them."""

_LEAST_ROWS = 30
"""Fewest rows of a leaf."""

_LEAF_COLUMNS = 32
"""Columns that leaves have slopes for, at most: of more, a part is drawn for every tree."""

_NODE_COLUMNS = 16
"""Columns that a node asks about, at most."""

_NODE_ROWS = 500
"""Rows that a cut is learnt from, at most."""

_EXTREME = 5.0
"""Standardised values beyond are cut off where cuts are learnt."""

_CUT_PENALTY = 1.0
_FREE = 1e-3
"""Penalty of a leaf's constant."""

_LEAST_PENALTY = 1e-9
"""Of slopes, as a share of the rows' weight: columns may be constant, or sums of others."""


@dataclass(frozen=True)
class LinearGrowth:
    """How such a tree is grown.

    Parameters
    ----------
    depth : int
        Most decisions of a row.
    least_rows : float
        Weight that a leaf must have.
    penalty : float
        On squared slopes of leaves, in rows of standardised columns.
    columns : ndarray of int
        Those that outputs may depend on in any way.
    """

    depth: int
    least_rows: float
    penalty: float
    columns: np.ndarray


def growth_of(
    max_leaves: int, least_rows: int, ridge: float, shape: tuple[int, float], columns: np.ndarray
) -> LinearGrowth:
    """As a sum is grown whose other trees have so many leaves of so many rows, and this ridge.

    shape : most decisions, and the penalty of slopes in units of the ridge.
    """
    depth = min(shape[0], max_leaves.bit_length() - 1)
    return LinearGrowth(depth, max(_LEAST_ROWS, least_rows), shape[1] * ridge, columns)


class _Grown:
    """Nodes and leaves so far, on standardised rows."""

    def __init__(self) -> None:
        self.weights: list[np.ndarray] = []
        self.children: list[list[int]] = []
        self.functions: list[np.ndarray] = []


def grow_linear(
    rows: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    growth: LinearGrowth,
    center: np.ndarray,
    scale: np.ndarray,
    rng: np.random.Generator,
) -> ObliqueTree:
    """A tree on rows as they are.

    Parameters
    ----------
    rows : ndarray of shape (rows, d)
        As they are.
    target : ndarray of shape (rows, outputs)
    weight : ndarray of shape (rows,)
    center, scale : ndarray of shape (d,)
        What columns are standardised by.
    """
    d, columns = rows.shape[1], growth.columns
    if len(columns) > _LEAF_COLUMNS:
        columns = np.sort(rng.choice(columns, _LEAF_COLUMNS, replace=False))
    A = np.ones((len(rows), len(columns) + 1))
    A[:, :-1] = (rows[:, columns] - center[columns]) / scale[columns]
    grown = _Grown()
    _divide(grown, A, target, weight, growth.depth, growth, rng)
    nodes = np.array(grown.weights).reshape(-1, len(columns) + 1)
    weights, functions = np.zeros((len(nodes), d)), np.array(grown.functions)
    slopes = np.zeros((len(functions), target.shape[1], d))
    weights[:, columns] = nodes[:, :-1]
    slopes[:, :, columns] = functions[:, :-1].transpose(0, 2, 1)
    children = np.array(grown.children, dtype=np.int32).reshape(-1, 2)
    tree = ObliqueTree(
        weights, nodes[:, -1], children[:, 0], children[:, 1], functions[:, -1], slopes
    )
    return tree.on_unscaled_inputs(center, scale)


def _divide(
    grown: _Grown,
    A: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    depth: int,
    growth: LinearGrowth,
    rng: np.random.Generator,
) -> int:
    """Grow what is below a node, parents before children; its number, or ``~leaf``."""
    cut = _cut(A, target, weight, growth, rng) if depth else None
    if cut is not None:
        right = A @ cut >= 0.0
        mass = weight @ right
        if min(mass, weight.sum() - mass) >= growth.least_rows:
            number = len(grown.weights)
            grown.weights.append(cut)
            grown.children.append([0, 0])
            for side, part in enumerate((~right, right)):
                grown.children[number][side] = _divide(
                    grown, A[part], target[part], weight[part], depth - 1, growth, rng
                )
            return number
    grown.functions.append(_ridge(A, target, weight, growth.penalty))
    return ~(len(grown.functions) - 1)


def _ridge(A: np.ndarray, target: np.ndarray, weight: np.ndarray, penalty: float) -> np.ndarray:
    """Coefficients (columns, outputs), the last of which is the constant."""
    weighed, penalty = A.T * weight, max(penalty, _LEAST_PENALTY * float(weight.sum()))
    scatter, moment = weighed @ A, weighed @ target
    scatter.flat[:: len(scatter) + 1] += np.append(np.full(len(scatter) - 1, penalty), _FREE)
    return np.linalg.solve(scatter, moment)


def _cut(
    A: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    growth: LinearGrowth,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Where two planes cross, as weights of A's columns; None where there is no such cut."""
    n, width = A.shape
    if n < 2 or weight.sum() < 2.0 * growth.least_rows:
        return None
    some: np.ndarray | slice = slice(None)
    if n > _NODE_ROWS:
        some = rng.integers(n, size=_NODE_ROWS)
    count, rows = min(_NODE_COLUMNS, width - 1), A[some]
    chosen = np.arange(width)
    if count < width - 1:
        chosen = np.append(rng.choice(width - 1, count, replace=False), width - 1)
        rows = np.ascontiguousarray(rows[:, chosen])
    rows, z, mass = np.clip(rows, -_EXTREME, _EXTREME), target[some], weight[some]
    z = z @ rng.normal(size=z.shape[1]) if z.shape[1] > 1 else z[:, 0]
    slope = rng.normal(size=count)
    side = rows[:, :-1] @ slope
    found = np.zeros(len(chosen))
    least = min(growth.least_rows, 0.05 * mass.sum())
    if not find_hinge(
        rows, np.ascontiguousarray(z), mass, side >= np.median(side),
        bool(rng.random() < 0.5), _CUT_PENALTY, least, found,
    ):  # fmt: skip
        return None
    cut = np.zeros(width)
    cut[chosen] = found
    return cut if found[:-1].any() else None
