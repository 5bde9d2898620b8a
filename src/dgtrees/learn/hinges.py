"""Hinge start: a small tree with linear leaves, where planes that fit two halves of the rows cross.

Rows are cut in two at random, each half gets a ridge regression, and every row goes to the side
whose plane is higher (or to the one whose plane is lower): the cut is where the planes cross, and
the function without a jump. A few rounds of this find a bend of the target, if it has one; both
sides are then cut in the same way. Such a tree has few leaves of many rows, and is near its end:
descent from it takes small steps.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn.starts import Start
from dgtrees.tree.topology import child_pointers, n_leaves

__all__ = ["MOST_COLUMNS", "hinge_start"]

MOST_COLUMNS = 256
"""Rows of more columns are not started so: a ridge regression takes their square per row."""

_ROWS = 20_000
"""Rows that it looks at."""

_LEAST = 40
"""Rows that both sides of a cut must have."""

_PENALTY = 10.0
"""Of ridge regressions, in rows of standardised columns."""

_ROUNDS = 12
_STARTS = 2


def hinge_start(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    max_depth: int,
    random: np.random.Generator,
) -> Start:
    """A complete tree with linear leaves; see the module docstring.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Standardised rows.
    target : ndarray of shape (rows, outputs)
        Cuts look for the bend of the combination of outputs that varies most.
    weight : ndarray of shape (rows,)
    """
    if len(X) > _ROWS:
        some = np.sort(random.permutation(len(X))[:_ROWS])
        X, target, weight = X[some], target[some], weight[some]
    weight = weight * max(1.0, len(weight) / weight.sum())
    A = np.column_stack([X.astype(np.float64), np.ones(len(X))])
    left, right = child_pointers(max_depth)
    nodes, width, outputs = len(left), A.shape[1], target.shape[1]
    weights, functions = np.zeros((nodes, width)), np.zeros((n_leaves(max_depth), width, outputs))
    one = target @ _main_direction(target, weight)

    def divide(node: int, rows: np.ndarray, function: np.ndarray) -> None:
        if node < 0:
            functions[~node] = function
            return
        w = _cut(A[rows], one[rows], weight[rows], random)
        if w is None:  # too few rows: all of them go left
            weights[node, -1] = -1.0
            sides, found = [rows, rows[:0]], [function, function]
        else:
            a = A[rows] @ w
            weights[node] = w / a.std()
            sides = [rows[a < 0], rows[a >= 0]]
            found = [_ridge(A[side], target[side], weight[side]) for side in sides]
        divide(int(left[node]), sides[0], found[0])
        divide(int(right[node]), sides[1], found[1])

    divide(0 if nodes else ~0, np.arange(len(A)), _ridge(A, target, weight))
    slopes = np.ascontiguousarray(functions[:, :-1].transpose(0, 2, 1))
    values = functions[:, -1]
    return Start(left, right, max_depth, values, weights[:, :-1], weights[:, -1], slopes)


def _main_direction(target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The combination of outputs that varies most, (outputs,)."""
    if target.shape[1] == 1:
        return np.ones(1)
    away = target - np.average(target, axis=0, weights=weight)
    direction = np.linalg.eigh((away * weight[:, None]).T @ away)[1][:, -1]
    return np.asarray(direction * np.sign(direction[np.abs(direction).argmax()]))


def _ridge(A: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Coefficients of the columns of A, whose last is the constant, which is not penalised."""
    penalty = np.full(A.shape[1], _PENALTY)
    penalty[-1] = 1e-6
    weighed = A * weight[:, None]
    return np.linalg.solve(weighed.T @ A + np.diag(penalty), weighed.T @ target)


def _cut(
    A: np.ndarray, y: np.ndarray, weight: np.ndarray, random: np.random.Generator
) -> np.ndarray | None:
    """Where two planes through rows (rows, d + 1) cross, as w with w . a = 0; None without one."""
    best: tuple[float, np.ndarray] | None = None
    if len(A) < 2 * _LEAST:
        return None
    for convex in (True, False):
        for _ in range(_STARTS):
            found = _alternate(A, y, weight, convex, random)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
    return None if best is None else best[1]


def _alternate(
    A: np.ndarray, y: np.ndarray, weight: np.ndarray, convex: bool, random: np.random.Generator
) -> tuple[float, np.ndarray] | None:
    """Planes for two sides and sides for two planes, in turns; the loss and the cut."""
    w = random.standard_normal((A.shape[1],))
    w[-1] -= np.median(A @ w)
    for _ in range(_ROUNDS):
        right = A @ w >= 0
        if min(right.sum(), (~right).sum()) < _LEAST:
            return None
        high = _ridge(A[right], y[right], weight[right])
        low = _ridge(A[~right], y[~right], weight[~right])
        w = high - low if convex else low - high
        if np.array_equal(A @ w >= 0, right):
            break
    right = A @ w >= 0
    if min(right.sum(), (~right).sum()) < _LEAST:
        return None
    loss = 0.0
    for side in (right, ~right):
        error = A[side] @ _ridge(A[side], y[side], weight[side]) - y[side]
        loss += float(weight[side] @ np.square(error))
    return loss, w
