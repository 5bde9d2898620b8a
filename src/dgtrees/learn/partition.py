"""A tree of planes whose leaves are clusters, or flats: no labels, only what rows cost in a leaf.

Grown from the root: the leaves that a node has to give its rows to are parted in two groups by a
plane, and settle on either side before the next cut, so that they give way to the planes above
them. Then the tree is refined, as in Tree Alternating Optimization: node by node from below, every
row of a node is drawn to the side whose leaf costs less; then the leaves are refitted. A step that
does not lower the total cost is not taken, and none may leave a leaf without rows.

Works on rows of one scale, all columns alike. Rows must be distinct and at least as many as leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.cuts import CutSettings, find_cut
from dgtrees.learn.half_spaces import HalfSpace, fit_half_space
from dgtrees.learn.leaf_shapes import Shapes
from dgtrees.tree.partial_routes import route_rows_from

__all__ = ["Partition", "grow_partition"]


@dataclass
class Partition:
    """A tree under way. Nodes and leaves are numbered from left to right, parents first."""

    weights: np.ndarray
    bias: np.ndarray
    left: np.ndarray
    right: np.ndarray
    shapes: Shapes

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """Leaf of every row."""
        return self._from(X, np.arange(len(X)), 0 if len(self.bias) else ~0)

    def _from(self, X: np.ndarray, rows: np.ndarray, start: int) -> np.ndarray:
        """Leaves of rows that set out at a node, or ``~leaf``."""
        found = np.full(len(rows), ~start, dtype=np.int32)
        if start >= 0:
            starts = np.full(len(rows), start, dtype=np.int32)
            route_rows_from(X, rows, starts, self.weights, self.bias, self.left, self.right, found)
        return found

    def cost(self, X: np.ndarray, weight: np.ndarray) -> float:
        """Total cost of the rows in their leaves."""
        return float(weight @ self.shapes.costs_at(X, self.leaves(X)))

    def refine(self, X: np.ndarray, weight: np.ndarray, passes: int) -> list[float]:
        """Passes over nodes and leaves until the cost falls no more; the costs, falling."""
        leaves = self.leaves(X)
        self.shapes = self.shapes.refit(X, weight, leaves)
        history = [float(weight @ self.shapes.costs_at(X, leaves))]
        spans = self._spans()
        for _ in range(passes):
            for node in range(len(self.bias) - 1, -1, -1):
                self._refine_node(node, spans[node], X, weight, leaves)
            self.shapes = self.shapes.refit(X, weight, leaves)
            history.append(float(weight @ self.shapes.costs_at(X, leaves)))
            if not history[-1] < history[-2] * (1 - 1e-4):
                break
        return history

    def _spans(self) -> np.ndarray:
        """First leaf below every node, and the one after the last."""
        spans = np.empty((len(self.bias), 2), dtype=np.int64)

        def span(child: int) -> tuple[int, int]:
            return (~child, ~child + 1) if child < 0 else tuple(spans[child])  # type: ignore

        for node in range(len(self.bias) - 1, -1, -1):
            spans[node] = span(int(self.left[node]))[0], span(int(self.right[node]))[1]
        return spans

    def _refine_node(
        self, node: int, span: np.ndarray, X: np.ndarray, weight: np.ndarray, leaves: np.ndarray
    ) -> None:
        """Give the node a better plane for its rows, if one is found; `leaves` follows."""
        rows = np.flatnonzero((leaves >= span[0]) & (leaves < span[1]))
        own = X[rows]
        low, high = (self._from(X, rows, int(side[node])) for side in (self.left, self.right))
        gain = self.shapes.costs_at(own, high) - self.shapes.costs_at(own, low)
        gain *= weight[rows]
        start = HalfSpace(self.weights[node], float(self.bias[node]))
        plane = fit_half_space(own, gain, start)
        if plane is start:
            return
        before = self.weights[node].copy(), self.bias[node]
        self.weights[node], self.bias[node] = plane.weights, plane.bias
        now = self._from(X, rows, node)
        old = gain[leaves[rows] == high].sum()
        new = gain[now == high].sum()
        if new < old and np.bincount(now - span[0], minlength=span[1] - span[0]).all():
            leaves[rows] = now
        else:
            self.weights[node], self.bias[node] = before


def grow_partition(
    X: np.ndarray,
    weight: np.ndarray,
    shapes: Shapes,
    settings: CutSettings,
    rng: np.random.Generator,
) -> Partition:
    """A tree of as many leaves as there are shapes, each with rows of its own."""
    nodes: list[HalfSpace] = []
    children: tuple[list[int], list[int]] = ([], [])
    leaves = np.empty(len(X), dtype=np.int32)
    done = 0
    # The left side is taken up first: nodes and leaves are then numbered from left to right.
    todo: list[tuple[np.ndarray, Shapes, int, int]] = [(np.arange(len(X)), shapes, -1, 0)]
    while todo:
        rows, below, parent, side = todo.pop()
        if parent >= 0:
            children[side][parent] = ~done if len(below) == 1 else len(nodes)
        if len(below) == 1:
            leaves[rows], done = done, done + 1
            continue
        plane, low, high = find_cut(X[rows], weight[rows], below, settings, rng)
        right = plane.margins(X[rows]) >= 0
        todo += [(rows[right], high, len(nodes), 1), (rows[~right], low, len(nodes), 0)]
        nodes.append(plane)
        for pointers in children:
            pointers.append(0)
    return Partition(
        np.array([plane.weights for plane in nodes]).reshape(len(nodes), X.shape[1]),
        np.array([plane.bias for plane in nodes], dtype=np.float64),
        np.array(children[0], dtype=np.int32),
        np.array(children[1], dtype=np.int32),
        shapes.refit(X, weight, leaves),
    )
