"""ObliqueTree: the finished product, frozen arrays that predict.

Everything that predicts, explains, exports or serves takes an `ObliqueTree`; everything that
trains ends in one. It holds no hyperparameters and nothing trainable, and needs NumPy, SciPy and
the compiled kernels only.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dgtrees.tree import leaf, routing
from dgtrees.tree.inputs import check_row, check_rows, split_rows
from dgtrees.tree.pruning import select
from dgtrees.tree.topology import check_children, child_pointers

__all__ = ["ObliqueTree"]


@dataclass(frozen=True, eq=False)
class ObliqueTree:
    """A hard binary tree whose nodes test w.x + b >= 0 (right) and whose leaves hold values.

    Parameters
    ----------
    weights : ndarray of shape (nodes, d)
    bias : ndarray of shape (nodes,)
    left, right : ndarray of shape (nodes,)
        Child of every node: a node's number, or ``~leaf``. Node 0 is the root.
    leaf_values : ndarray of shape (leaves, outputs)
        Class scores (log-probabilities) or regression values.
    leaf_weights : ndarray of shape (leaves, outputs, d), optional
        Linear leaves predict leaf_values + leaf_weights @ x.

    Examples
    --------
    >>> tree = ObliqueTree.complete(weights=[[1.0, -1.0]], bias=[0.0], leaf_values=[[10.0], [20.0]])
    >>> tree.predict([[0.0, 1.0], [1.0, 0.0]])
    array([[10.],
           [20.]])
    >>> tree.apply([[2.0, 2.0]])  # a tie goes right
    array([1], dtype=int32)
    >>> tree.predict_row([0.0, 1.0])  # one row, without the price of a batch
    array([10.])

    Notes
    -----
    Rows must be finite, which is not checked here: `predict` of an estimator does, and fills in
    missing values first. A row has the same leaf alone and in any batch, as float32 and as
    float64, and on any number of threads.
    """

    weights: np.ndarray
    bias: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf_values: np.ndarray
    leaf_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        arrays: dict[str, type] = {
            "weights": np.float64,
            "bias": np.float64,
            "left": np.int32,
            "right": np.int32,
            "leaf_values": np.float64,
        }
        if self.leaf_weights is not None:
            arrays["leaf_weights"] = np.float64
        for name, dtype in arrays.items():
            array: np.ndarray = np.array(getattr(self, name), dtype=dtype, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._check()

    def _check(self) -> None:
        if self.weights.ndim != 2 or self.leaf_values.ndim != 2:
            raise ValueError(
                "weights must be (nodes, d) and leaf_values (leaves, outputs), got shapes "
                f"{self.weights.shape} and {self.leaf_values.shape}"
            )
        nodes, d = self.weights.shape
        leaves, outputs = self.leaf_values.shape
        expected = {
            "bias": (nodes,),
            "left": (nodes,),
            "right": (nodes,),
            "leaf_weights": (leaves, outputs, d),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
        if leaves != nodes + 1:
            raise ValueError(f"a tree of {nodes} nodes has {nodes + 1} leaves, got {leaves}")
        check_children(self.left, self.right)
        for name in ("weights", "bias", "leaf_values", "leaf_weights"):
            array = getattr(self, name)
            if array is not None and not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite, got NaN or infinity")

    @classmethod
    def complete(
        cls,
        weights: ArrayLike,
        bias: ArrayLike,
        leaf_values: ArrayLike,
        leaf_weights: ArrayLike | None = None,
    ) -> ObliqueTree:
        """A complete tree from nodes and leaves in level order (see `topology`)."""
        height = int(np.shape(leaf_values)[0]).bit_length() - 1
        if np.shape(leaf_values)[0] != 2**height:
            raise ValueError(f"a complete tree has 2^h leaves, got {np.shape(leaf_values)[0]}")
        left, right = child_pointers(height)
        slopes = None if leaf_weights is None else np.asarray(leaf_weights)
        arrays = np.asarray(weights), np.asarray(bias), left, right, np.asarray(leaf_values)
        return cls(*arrays, slopes)

    def __getstate__(self) -> dict[str, Any]:
        """The fields only: what was derived from them can be derived again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickle, with arrays frozen again."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    # What it is

    @property
    def n_nodes(self) -> int:
        """Number of decision nodes."""
        return self.weights.shape[0]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_values.shape[0]

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.weights.shape[1]

    @property
    def linear(self) -> bool:
        """Whether leaves are linear functions of the row."""
        return leaf.kind_of(self) == leaf.LINEAR

    @property
    def mixes(self) -> bool:
        """Whether columns are added up, in a decision or in a leaf."""
        return self.linear or bool((np.count_nonzero(self.weights, axis=1) > 1).any())

    @property
    def n_outputs(self) -> int:
        """Length of a prediction."""
        return self.leaf_values.shape[1]

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of every node, then of every leaf; -1 for the root."""
        parent = np.full(self.n_nodes + self.n_leaves, -1, dtype=np.int32)
        for children in (self.left, self.right):
            node = np.arange(self.n_nodes, dtype=np.int32)
            parent[np.where(children >= 0, children, self.n_nodes + ~children)] = node
        return parent

    @cached_property
    def depths(self) -> np.ndarray:
        """Depth of every node, then of every leaf."""
        depth = np.zeros(self.n_nodes + self.n_leaves, dtype=np.int32)
        for node in range(self.n_nodes):  # parents come first
            for child in (self.left[node], self.right[node]):
                depth[child if child >= 0 else self.n_nodes + ~child] = depth[node] + 1
        return depth

    @cached_property
    def _packed(self) -> np.ndarray:
        """Nodes as prediction reads them."""
        return routing.pack([self.weights], [self.bias], [self.left], [self.right])

    @property
    def depth(self) -> int:
        """Most decisions on any path."""
        return int(self.depths.max())

    @property
    def flops(self) -> int:
        """Most multiply-adds one prediction can take: d a decision, plus a linear leaf's own."""
        own = self.n_outputs * self.n_features if self.linear else 0
        return self.depth * self.n_features + own

    # What it answers

    def apply(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """Leaf (0 .. n_leaves - 1) of every row of X, shape (rows,)."""
        X = self._rows(X)
        leaves = np.empty((X.shape[0], 1), dtype=np.int32)
        trees = self._packed
        split_rows(
            lambda start, stop: routing.leaves_of_rows(X, start, stop, trees, leaves),
            X.shape[0],
            self.flops,
            n_threads,
        )
        return leaves.reshape(-1)

    def apply_finite(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray | None:
        """`apply` of rows that nobody has checked yet; None if a number is missing or infinite."""
        X = self._rows(X)
        leaves = np.empty((X.shape[0], 1), dtype=np.int32)
        trees, refused = self._packed, []

        def work(start: int, stop: int) -> None:
            if not routing.leaves_of_finite_rows(X, start, stop, trees, leaves):
                refused.append(start)

        split_rows(work, X.shape[0], self.flops, n_threads)
        return None if refused else leaves.reshape(-1)

    def predict(self, X: ArrayLike, n_threads: int | None = None) -> np.ndarray:
        """Leaf outputs of every row of X, shape (rows, outputs)."""
        X = self._rows(X)
        return leaf.leaf_outputs(self, X, self.apply(X, n_threads), n_threads)

    def apply_row(self, x: ArrayLike) -> int:
        """Leaf of one row, `apply([x])[0]` in about a microsecond."""
        return routing.leaf_of_row(check_row(x, self.n_features), self._packed)

    def predict_row(self, x: ArrayLike) -> np.ndarray:
        """Output of one row, `predict([x])[0]`; a view of `leaf_values` for constant leaves."""
        return leaf.row_output(self, check_row(x, self.n_features))

    def decision_path(self, X: ArrayLike) -> sparse.csr_matrix:
        """Which nodes and leaves every row passes: (rows, nodes + leaves), as in scikit-learn.

        Column n < n_nodes is decision node n; column n_nodes + l is leaf l.
        """
        leaves = self.apply(X)
        steps = [self.n_nodes + leaves.astype(np.int64)]
        while np.any(steps[-1] >= 0):
            above = self.parent[np.maximum(steps[-1], 0)]
            steps.append(np.where(steps[-1] >= 0, above, -1))
        path = np.stack(steps[::-1], axis=1)
        passed = path >= 0
        ends = np.concatenate([[0], np.cumsum(passed.sum(axis=1))])
        columns = path[passed]
        shape = (leaves.shape[0], self.n_nodes + self.n_leaves)
        return sparse.csr_matrix((np.ones(columns.size, dtype=np.int8), columns, ends), shape=shape)

    def visits(
        self, X: ArrayLike, row_weights: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weight of the rows of X that pass every node, and that end in every leaf."""
        leaves = self.apply(X)
        return self.totals(np.bincount(leaves, weights=row_weights, minlength=self.n_leaves))

    def totals(self, at_leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the leaves below every node, and the leaves' own numbers (leaves, ...)."""
        total = np.concatenate([np.zeros((self.n_nodes, *at_leaf.shape[1:])), at_leaf])
        for position in range(len(total) - 1, 0, -1):  # leaves first, then nodes bottom-up
            total[self.parent[position]] += total[position]
        return total[: self.n_nodes], total[self.n_nodes :]

    # What it can become

    def prune(self, X: ArrayLike | None = None) -> ObliqueTree:
        """A smaller tree with the same predictions.

        Drops every split of which one side no row of `X` reaches (rows of that side, should they
        come later, join the other), then every split between two leaves that agree. Predictions
        for the rows of X do not change; without X only agreeing leaves are merged, and no
        prediction changes at all.
        """
        if X is None:
            return self.keep_leaves(np.ones(self.n_leaves, dtype=bool))
        _, at_leaf = self.visits(X)
        return self.keep_leaves(at_leaf > 0)

    def keep_leaves(self, keep: np.ndarray) -> ObliqueTree:
        """The tree without the leaves that are not marked, and with agreeing leaves merged.

        Rows that would have come to a dropped leaf go to the other side of the split above it.
        """
        if not np.any(keep):
            raise ValueError("at least one leaf must be kept, got none: give rows to prune by")
        above, _ = self.totals(np.asarray(keep, dtype=float))
        reached = np.concatenate([above > 0, keep])
        same = partial(leaf.agree, self)
        kept, left, right, leaves = select(self.left, self.right, reached, same)
        return ObliqueTree(
            self.weights[kept].reshape(len(kept), self.n_features),
            self.bias[kept],
            left,
            right,
            self.leaf_values[leaves],
            None if self.leaf_weights is None else self.leaf_weights[leaves],
        )

    def with_leaves(
        self, leaf_values: np.ndarray, leaf_weights: np.ndarray | None = None
    ) -> ObliqueTree:
        """The same splits with other leaves."""
        return replace(self, leaf_values=leaf_values, leaf_weights=leaf_weights)

    def on_unscaled_inputs(self, center: np.ndarray, scale: np.ndarray) -> ObliqueTree:
        """The tree on x that equals this tree on (x - center) / scale."""
        weights = self.weights / scale
        bias = self.bias - weights @ center
        leaves = leaf.unscale_inputs(self, center, scale)
        return replace(self, weights=weights, bias=bias, **leaves)  # type: ignore[arg-type]

    def on_scaled_outputs(self, center: np.ndarray, scale: np.ndarray) -> ObliqueTree:
        """The tree whose outputs are this tree's times `scale` plus `center`."""
        return replace(self, **leaf.rescale_outputs(self, center, scale))  # type: ignore[arg-type]

    def _rows(self, X: ArrayLike) -> np.ndarray:
        return check_rows(X, self.n_features)
