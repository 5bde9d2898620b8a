"""Trees for a forest: deep, unpruned, and different from each other by rows and random splits.

What is good in company is another thing than what is good alone. A member sees a bootstrap sample,
its nodes take the best of a few columns and directions (`_random_splits`), and nothing is pruned.
Members for numbers may stand beside linear functions, each of its own sample: the mean of these is
one linear function, which is added to the mean of the trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn._random_splits import Sample, Splitting, make_room
from dgtrees.learn._random_tree import grow
from dgtrees.learn.linear import Linear, linear_models
from dgtrees.learn.refine import normalize
from dgtrees.learn.standard import Standard
from dgtrees.learn.threads import one_thread
from dgtrees.tables.examples import Examples, bootstrap
from dgtrees.tree.by_reference import Held
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Member", "MemberPlan", "MemberRows", "draw", "grow_member"]

_MOST_NUMBERS = 2**21
"""Of a tree: weights and leaf values. Leaves of very large tables have more rows instead."""

_DOUBT = 0.02
"""Part of what a leaf says that is spread over all classes: a company may agree and be wrong."""


@dataclass(frozen=True)
class MemberPlan:
    """What the trees of a forest are.

    Parameters
    ----------
    columns, directions : int
        How many are drawn per node, to split by the best of them.
    width : int
        Most columns of a direction.
    min_rows : int
        Rows that a leaf needs.
    penalty : float, optional
        Of the linear functions that trees stand beside; None for none.
    """

    columns: int
    directions: int = 0
    width: int = 2
    min_rows: int = 1
    penalty: float | None = None

    def __str__(self) -> str:
        columns = "1 column" if self.columns == 1 else f"{self.columns} columns"
        tried = f"the best of {columns}"
        if self.directions:
            size = "2" if self.width == 2 else f"2 to {self.width}"
            tried += f" and {self.directions} directions of {size} columns"
        parts = [f"{tried} per node", f"leaves of {self.min_rows}+ rows"]
        if self.penalty is not None:
            parts.append(f"beside a linear function (penalty {self.penalty:g})")
        return ", ".join(parts)


@dataclass(frozen=True)
class Member:
    """A tree on unscaled rows, the importance of its inputs, and what stands beside it.

    Parameters
    ----------
    tree : ObliqueTree
    importance : ndarray of shape (d,)
    linear : Linear, optional
        On unscaled rows, too; what the member says is the sum of both.
    """

    tree: ObliqueTree
    importance: np.ndarray
    linear: Linear | None = None


class MemberRows:
    """Rows that members are grown from, standardised once for all of them.

    Parameters
    ----------
    train : Examples
    emphasis : ndarray of shape (rows,), optional
        What multiplies the weights of rows that were drawn, for class weights.
    n_classes : int
        0 for regression.
    """

    def __init__(self, train: Examples, emphasis: np.ndarray | None, n_classes: int) -> None:
        self.weight, self.emphasis, self.n_classes = train.weight, emphasis, n_classes
        self.standard = Standard(train, n_classes)
        self.X = self.standard.inputs(train.X)
        self.X[:, self.standard.constant] = 0.0
        self.columns = np.ascontiguousarray(self.X.T)
        self.target = np.ascontiguousarray(self.standard.targets(train))
        self.label = (train.y if n_classes else np.zeros(0)).astype(np.int32)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.X.shape[1]


def draw(rows: MemberRows, share: float | None, seed: int) -> np.ndarray:
    """Mass (rows,) of a seed's bootstrap sample, 0 for rows not drawn; share None draws all."""
    if share is None:
        # Weights that add up to less than one per row say nothing about a number of rows.
        mass = rows.weight * max(1.0, len(rows) / rows.weight.sum())
    else:
        mass = bootstrap(rows.weight, share, seed).astype(np.float64)
    if rows.emphasis is not None:
        mass = mass * rows.emphasis
    if not mass.any():
        raise ValueError(
            "all rows of a bootstrap sample have class weight 0: give such classes a weight above "
            "0, or leave their rows out"
        )
    return mass


def grow_member(
    rows: MemberRows, plan: MemberPlan, share: float | None, max_leaves: int | None, seed: int
) -> Member:
    """Grow a member from the bootstrap sample of `seed`."""
    mass = draw(rows, share, seed)
    with one_thread():
        return _unscaled(rows, *grow_standard(rows, plan, mass, max_leaves, seed))


def grow_standard(
    rows: MemberRows, plan: MemberPlan, mass: np.ndarray, max_leaves: int | None, seed: int
) -> tuple[ObliqueTree, np.ndarray, Linear | None]:
    """Tree, gains of inputs (d,) and linear function on standardised rows and targets."""
    drawn, target, linear = np.flatnonzero(mass), rows.target, None
    if plan.penalty is not None:
        own = rows.X[drawn], rows.target[drawn], mass[drawn]
        (linear,) = linear_models(*own, (plan.penalty,), False)
        target = target - linear.predict(rows.X.astype(np.float64))
    d, outputs = rows.width, rows.target.shape[1]
    total = float(mass.sum())
    least = total * (d + outputs) / _MOST_NUMBERS
    # One row is enough however little it weighs.
    least = max(least, float(plan.min_rows) if plan.min_rows > 1 else 0.0)
    width = min(plan.width, d)
    directions = plan.directions if width > 1 else 0
    numbers = np.zeros((0, 0)) if rows.n_classes else target
    columns, label, numbers = (_frozen(array) for array in (rows.columns, rows.label, numbers))
    sample = Sample(columns, label, numbers, mass, rows.n_classes)
    most = len(drawn) if max_leaves is None else min(max_leaves, len(drawn))
    room = Held(make_room(sample, len(drawn), max(width, 1), seed))
    splitting = Splitting(plan.columns, directions, width, least)
    grown = grow(sample, splitting, drawn.astype(np.int32), most, room.table)
    values = grown.sums / grown.mass[:, None]
    if rows.n_classes:
        values = np.log((1.0 - _DOUBT) * values + _DOUBT / rows.n_classes)
    gains = grown.gains
    if linear is not None:  # columns have deviation 1: a slope's square is the variance it makes
        gains = gains + total * np.square(linear.weights).sum(axis=0)
    tree = ObliqueTree(grown.weights, grown.bias, grown.left, grown.right, values)
    return tree, gains, linear


def _frozen(array: np.ndarray) -> np.ndarray:
    """As workers have arrays, too: code is compiled for one type only."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view


def _unscaled(
    rows: MemberRows, tree: ObliqueTree, gains: np.ndarray, linear: Linear | None
) -> Member:
    """A member on the rows themselves."""
    standard, importance = rows.standard, normalize(gains)
    if linear is None:
        return Member(standard.unscale(tree), importance)
    tree = tree.on_unscaled_inputs(standard.center, standard.scale)
    tree = tree.on_scaled_outputs(np.zeros(len(standard.y_scale)), standard.y_scale)
    slopes = standard.y_scale[:, None] * linear.weights / standard.scale
    bias = standard.y_scale * linear.bias + standard.y_center - slopes @ standard.center
    return Member(tree, importance, Linear(slopes, bias))
