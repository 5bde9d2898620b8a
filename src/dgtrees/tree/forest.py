"""ObliqueForest: several finished trees that answer together, in one compiled pass.

Frozen like its trees. How their answers are combined is part of it: the mean of their outputs,
the share of trees that vote for a class, the mean of their class probabilities, or their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dgtrees.tree import routing
from dgtrees.tree.inputs import check_row, check_rows, split_rows
from dgtrees.tree.linear_sums import LinearLeaves, add_leaves, linear_leaves
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.small_trees import (
    SmallTrees,
    pack_small,
    small_leaves_of_rows,
    small_sums_of_rows,
)

__all__ = ["COMBINATIONS", "ObliqueForest"]

COMBINATIONS = ("mean", "vote", "softmax", "sum")

_ROWS_AT_ONCE = 4096
"""Rows for which every tree's outputs are held where they cannot be added leaf by leaf."""


@dataclass(frozen=True, eq=False)
class ObliqueForest:
    """Trees over the same features and outputs, and how their answers become one.

    Parameters
    ----------
    trees : sequence of ObliqueTree
    combine : {"mean", "vote", "softmax", "sum"}
        "mean" averages outputs, "sum" adds them; "vote" counts, for every class, the trees whose
        score for it is highest (the first of equal ones); "softmax" averages the trees' class
        probabilities.
        The answer of these two is a share for every class.
    bounds : pair of ndarray of shape (outputs,), optional
        Lowest and highest output: of every tree with linear leaves, for "mean", and of the whole,
        for "sum".
    base : ObliqueTree, optional
        A tree of one leaf, constant or linear, that is added to a sum.

    Trees of a sum may have constant leaves and linear ones side by side; others agree in that.

    Examples
    --------
    >>> left = ObliqueTree.complete([[1.0]], [0.0], [[0.0], [10.0]])
    >>> right = ObliqueTree.complete([[1.0]], [-5.0], [[0.0], [20.0]])
    >>> ObliqueForest([left, right]).predict([[-1.0], [1.0], [6.0]])
    array([[ 0.],
           [ 5.],
           [15.]])
    """

    trees: tuple[ObliqueTree, ...]
    combine: str = "mean"
    bounds: tuple[np.ndarray, np.ndarray] | None = None
    base: ObliqueTree | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees:
            raise ValueError("a forest needs at least one tree, got none")
        if self.combine not in COMBINATIONS:
            raise ValueError(
                f"combine must be one of {', '.join(COMBINATIONS)}, got {self.combine!r}"
            )
        first = self._shape(self.trees[0])
        for number, tree in enumerate(self.trees):
            if self._shape(tree) != first:
                raise ValueError(
                    "trees must agree in (features, outputs, linear leaves), tree 0 has "
                    f"{first}, tree {number} has {self._shape(tree)}"
                )
        self._check_base()
        if self.bounds is not None:
            low, high = (np.array(bound, dtype=np.float64).reshape(-1) for bound in self.bounds)
            if low.shape != (self.n_outputs,) or high.shape != low.shape:
                raise ValueError(
                    f"bounds must be two arrays of {self.n_outputs} numbers, got shapes "
                    f"{low.shape} and {high.shape}"
                )
            object.__setattr__(self, "bounds", (low, high))

    def _check_base(self) -> None:
        if self.base is None:
            return
        shape = self.base.n_features, self.base.n_outputs, self.base.n_leaves
        if self.combine != "sum" or shape != (self.n_features, self.n_outputs, 1):
            raise ValueError(
                f"base must be one leaf of {self.n_features} features and {self.n_outputs} "
                f"outputs that is added to a sum, got {shape[2]} leaves of {shape[0]} features "
                f"and {shape[1]} outputs to combine by {self.combine}"
            )

    def _shape(self, tree: ObliqueTree) -> tuple[int, int, bool]:
        return tree.n_features, tree.n_outputs, tree.linear and self.combine != "sum"

    def __getstate__(self) -> dict[str, Any]:
        """The fields only: what has been packed for prediction can be packed again."""
        return {
            "trees": self.trees,
            "combine": self.combine,
            "bounds": self.bounds,
            "base": self.base,
        }

    def __len__(self) -> int:
        return len(self.trees)

    # What it is

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.trees[0].n_features

    @property
    def n_outputs(self) -> int:
        """Length of a prediction."""
        return self.trees[0].n_outputs

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together."""
        return sum(tree.n_leaves for tree in self.trees)

    @cached_property
    def linear(self) -> bool:
        """Whether any tree has leaves that are linear functions of the row."""
        return any(tree.linear for tree in self.trees)

    @property
    def depth(self) -> int:
        """Most decisions on any path."""
        return max(tree.depth for tree in self.trees)

    @cached_property
    def flops(self) -> int:
        """Most multiply-adds one prediction can take."""
        return sum(tree.flops for tree in (*self.trees, *([self.base] if self.base else [])))

    # What it answers

    def apply(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """Leaf of every row in every tree, numbered tree by tree: (rows, trees)."""
        X = check_rows(X, self.n_features)
        return self._leaves(X, n_threads) - self._first_leaf

    def predict(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """The trees' answers combined, shape (rows, outputs)."""
        X = check_rows(X, self.n_features)
        outputs = np.empty((len(X), self.n_outputs))
        if not self.linear:
            split_rows(self._adder(X, outputs), len(X), self.flops, n_threads)
        else:
            for start in range(0, len(X), _ROWS_AT_ONCE):
                part = slice(start, start + _ROWS_AT_ONCE)
                outputs[part] = self._linear_answers(X[part], n_threads)
            if self.combine != "sum":
                return outputs
        return self._whole(outputs, None if self.base is None else self.base.predict(X))

    def _linear_answers(self, X: np.ndarray, n_threads: int | None) -> np.ndarray:
        """Sums over the trees, or what they say combined, where leaves are linear."""
        if self.combine != "sum":
            return self._combine(self.outputs_by_tree(X, n_threads))
        leaves, outputs, parts = (
            self._leaves(X, n_threads),
            np.empty((len(X), self.n_outputs)),
            (self._linear_leaves),
        )
        split_rows(
            lambda start, stop: add_leaves(X, start, stop, leaves, parts, outputs),
            len(X),
            self.flops,
            n_threads,
        )
        return outputs

    def apply_row(self, x: ArrayLike) -> np.ndarray:
        """Leaf of one row in every tree, `apply([x])[0]`."""
        leaves = np.empty(len(self), dtype=np.int32)
        routing.leaves_of_row(check_row(x, self.n_features), self._packed, leaves)
        return leaves - self._first_leaf

    def predict_row(self, x: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """The trees' answers for one row, `predict([x])[0]`, without the price of a batch.

        Parameters
        ----------
        x : array-like of shape (n_features,)
        out : ndarray of shape (n_outputs,) and float64, optional
            Where to write the answer.
        """
        x = check_row(x, self.n_features)
        out = np.empty(self.n_outputs) if out is None else self._check_out(out)
        if self.linear and self.combine != "sum":
            out[:] = self.predict(x[None], n_threads=1)[0]
            return out
        if self.linear:
            leaves = np.empty((1, len(self)), dtype=np.int32)
            routing.leaves_of_row(x, self._packed, leaves[0])
            add_leaves(x[None], 0, 1, leaves, self._linear_leaves, out[None])
        else:
            routing.sum_of_row(x, self._packed, self._answers, out)
        return self._whole(out, None if self.base is None else self.base.predict_row(x))

    def _check_out(self, out: object) -> np.ndarray:
        if not isinstance(out, np.ndarray) or not out.flags.writeable:
            what = "one that is read-only" if isinstance(out, np.ndarray) else type(out).__name__
            raise ValueError(
                f"out must be an array that can be written to, got {what}: leave it out to get a "
                "new array"
            )
        if out.shape != (self.n_outputs,) or out.dtype != np.float64:
            raise ValueError(
                f"out must be a float64 array of shape ({self.n_outputs},), got {out.dtype} of "
                f"shape {out.shape}: leave it out to get a new array"
            )
        return out

    def outputs_by_tree(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """What every tree has to say by itself: outputs, votes or probabilities.

        Shape (trees, rows, outputs); `predict` is their mean, or their sum and the base.
        """
        X = check_rows(X, self.n_features)
        if not self.linear:
            return self._answers[self._leaves(X, n_threads).T]
        return np.stack([self.said_by(tree, X, n_threads) for tree in self.trees])

    def said_by(self, tree: ObliqueTree, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """One tree's part of the mean, (rows, outputs)."""
        return self._said(tree.predict(X, n_threads))

    def _whole(self, sums: np.ndarray, base: np.ndarray | None) -> np.ndarray:
        """The answer from the sum over all trees, in place."""
        if self.combine != "sum":
            sums /= len(self)
            return sums
        if base is not None:
            sums += base
        return sums if self.bounds is None else np.clip(sums, *self.bounds, out=sums)

    def _combine(self, outputs: np.ndarray) -> np.ndarray:
        total = np.zeros(outputs.shape[1:])
        for output in outputs:  # in order, as the compiled pass adds them
            total += output
        return total / len(outputs)

    def _said(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs of one tree as they enter the mean."""
        if self.combine == "vote":
            return np.eye(self.n_outputs)[outputs.argmax(axis=1)]
        if self.combine == "softmax":
            return softmax(outputs, axis=1)
        if self.bounds is None or self.combine == "sum":
            return outputs
        return np.clip(outputs, *self.bounds)

    def _leaves(self, X: np.ndarray, n_threads: int | None) -> np.ndarray:
        leaves = np.empty((len(X), len(self)), dtype=np.int32)
        split_rows(self._router(X, leaves), len(X), self.flops, n_threads)
        return leaves

    def _adder(self, X: np.ndarray, outputs: np.ndarray) -> Callable[[int, int], None]:
        """What writes the sums over all trees of some rows, by the quicker of two ways."""
        small, values = self._small, self._answers
        if small is None:
            packed = self._packed
            return lambda i, j: routing.sums_of_rows(X, i, j, packed, values, outputs)
        places = small.n_places
        return lambda i, j: small_sums_of_rows(X, i, j, small, places, values, outputs)

    def _router(self, X: np.ndarray, leaves: np.ndarray) -> Callable[[int, int], None]:
        """The same for leaves."""
        small = self._small
        if small is None:
            packed = self._packed
            return lambda i, j: routing.leaves_of_rows(X, i, j, packed, leaves)
        places = small.n_places
        return lambda i, j: small_leaves_of_rows(X, i, j, small, places, leaves)

    # All trees in one set of arrays

    @cached_property
    def _first_leaf(self) -> np.ndarray:
        return np.cumsum([0] + [tree.n_leaves for tree in self.trees[:-1]]).astype(np.int32)

    def joined(self) -> tuple[np.ndarray, ...]:
        """Roots, weights, bias, left and right of all trees, numbered through, for exports.

        A root is a node's number, or ``~leaf`` for a tree without nodes.
        """
        first_node = np.cumsum([0] + [tree.n_nodes for tree in self.trees[:-1]])
        first = list(zip(self.trees, first_node, self._first_leaf, strict=True))
        roots = [node if tree.n_nodes else ~leaf for tree, node, leaf in first]

        def numbered(side: str) -> np.ndarray:
            pointers = (
                np.where(getattr(tree, side) >= 0, getattr(tree, side) + node, 0)
                + np.where(getattr(tree, side) < 0, getattr(tree, side) - leaf, 0)
                for tree, node, leaf in first
            )
            return np.concatenate(list(pointers)).astype(np.int32)

        return (
            np.array(roots, dtype=np.int32),
            np.concatenate([tree.weights for tree in self.trees]),
            np.concatenate([tree.bias for tree in self.trees]),
            numbered("left"),
            numbered("right"),
        )

    @cached_property
    def _packed(self) -> np.ndarray:
        """Nodes of all trees as prediction reads them."""
        return routing.pack(*self._fields())

    @cached_property
    def _small(self) -> SmallTrees | None:
        """The same for batches, where trees are small and many nodes ask about one column."""
        found = pack_small(*self._fields())
        return found if found is not None and found.pays() else None

    def _fields(self) -> Iterator[tuple[np.ndarray, ...]]:
        return zip(*((t.weights, t.bias, t.left, t.right) for t in self.trees), strict=True)

    @cached_property
    def _linear_leaves(self) -> LinearLeaves:
        """Leaves of all trees of a sum, of which some are linear."""
        return linear_leaves([(tree.leaf_values, tree.leaf_weights) for tree in self.trees])

    @cached_property
    def _answers(self) -> np.ndarray:
        """What every constant leaf adds to the mean, (leaves of all trees, outputs)."""
        return self._said(np.concatenate([tree.leaf_values for tree in self.trees]))
