"""Sums of many small trees, all decisions of sixteen or more rows side by side.

A row's way through a tree is a chain of decisions, each of which waits for the last one. In a tree
of up to 64 leaves it is quicker to take all decisions, for a block of rows at once, and to strike
out what cannot be reached: leaves are the bits of a word, from left to right, and a row that goes
right at a node clears the bits of the node's left side. The first bit left is the row's leaf.

Nodes that ask about one column are stored as column, weight and bias; weight * x + bias is the
whole dot product then, to the bit, because rows are finite and zeros add nothing. Others ask about
projections on directions, dot products in the order of `tree.dot`, which trees share.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dgtrees.tree.blocks import project
from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import LANES

__all__ = [
    "MOST_LEAVES",
    "SmallTrees",
    "pack_small",
    "small_leaves_of_rows",
    "small_sums_of_rows",
]

MOST_LEAVES = 64
_BLOCK = 256
"""Rows of a block, whose columns stay in the cache."""

_STRIDE = _BLOCK + 8
"""From column to column: of a power of two, all columns would share a few places of the cache."""

_NODE, _ADD, _DECISION, _COLUMN = 0.11, 0.08, 6.6, 0.085
"""About how many nanoseconds a row takes for a node and for a product that is added, here; and for
one decision and every column of it on a way from node to node."""


class SmallTrees(NamedTuple):
    """Trees as the compiled loops of this module read them.

    Parameters
    ----------
    roots : int32 (trees + 1,)
        First node of every tree, and the number of nodes.
    first_leaf : int32 (trees,)
        Leaves are numbered through all trees.
    column : int32 (nodes,)
        That a node asks about, or d and the place of a projection.
    weight, bias : float64 (nodes,)
        The weight is 1 for projections.
    kept : uint32 or uint64 (nodes,)
        All bits but those of the leaves on the left side.
    leaf_of_bit : int32 (leaves,)
        Leaves of every tree from left to right.
    directions : float64 (directions, d)
        Every one once: trees of one round share them.
    due : int32 (projections, 2)
        Directions in the order that trees need them, and the place of each: one that no later tree
        needs is taken again.
    due_until : int32 (trees,)
        How many of these have been projected on when a tree's turn comes.
    """

    roots: np.ndarray
    first_leaf: np.ndarray
    column: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    kept: np.ndarray
    leaf_of_bit: np.ndarray
    directions: np.ndarray
    due: np.ndarray
    due_until: np.ndarray

    @property
    def n_places(self) -> int:
        """Of projections."""
        return int(self.due[:, 1].max(initial=-1)) + 1

    def pays(self) -> bool:
        """Whether all decisions are taken sooner than those on the way to a leaf, one by one."""
        nodes = np.diff(self.roots)
        products = np.count_nonzero(self.directions, axis=1)[self.due[:, 0]] + LANES - 1
        decisions = np.log2(nodes + 1.0).sum() + np.count_nonzero(nodes)
        here = _NODE * nodes.sum() + _ADD * products.sum()
        return bool(here < decisions * (_DECISION + _COLUMN * self.directions.shape[1]))


def pack_small(
    weights: Sequence[np.ndarray],
    bias: Sequence[np.ndarray],
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
) -> SmallTrees | None:
    """Trees from the arrays of each (see `ObliqueTree`); None if a tree has too many leaves."""
    counts = np.array([len(tree) for tree in weights])
    most = counts.max(initial=0) + 1
    if most > MOST_LEAVES:
        return None
    roots = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    first_leaf = (roots[:-1] + np.arange(len(counts))).astype(np.int32)
    dense = np.concatenate(list(weights))
    lefts, rights = np.concatenate(list(left)), np.concatenate(list(right))
    bits, leaf_of_bit = np.empty(len(dense), np.uint64), np.empty(roots[-1] + len(counts), np.int32)
    _number_leaves(lefts.astype(np.int64), rights.astype(np.int64), roots, bits, leaf_of_bit)
    column, slope, direction, directions = _told_apart(dense)
    due, due_until, places = _places(direction, roots)
    column = np.where(direction < 0, column, dense.shape[1] + places)
    return SmallTrees(
        roots, first_leaf, column.astype(np.int32), slope, np.concatenate(list(bias)),
        (~bits).astype(np.uint32 if most <= 32 else np.uint64), leaf_of_bit, directions, due,
        due_until,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _number_leaves(left, right, roots, bits, leaf_of_bit):
    """Bits of the leaves on the left side of every node; leaves of every tree, left to right."""
    waiting = np.empty(2 * MOST_LEAVES, np.int64)  # nodes on the way; ~node when its left is done
    first_bit = np.empty(MOST_LEAVES, np.int64)
    for tree in range(roots.shape[0] - 1):
        root, first_leaf, n_leaves = roots[tree], roots[tree] + tree, 0
        size = 0
        node = np.int64(0) if roots[tree + 1] > root else np.int64(-1)
        while True:
            while node >= 0:
                first_bit[node] = n_leaves
                waiting[size] = node
                size += 1
                node = left[root + node]
            leaf_of_bit[first_leaf + n_leaves] = first_leaf + ~node
            n_leaves += 1
            if size == 0:
                break
            size -= 1
            node = waiting[size]
            below = np.uint64(n_leaves - first_bit[node])
            ones = ~np.uint64(0) >> (np.uint64(64) - below)
            bits[root + node] = ones << np.uint64(first_bit[node])
            node = right[root + node]


def _told_apart(dense: np.ndarray) -> tuple[np.ndarray, ...]:
    """Columns and weights of nodes of one column; directions of the others, every one once."""
    several = np.count_nonzero(dense, axis=1) > 1
    column = np.abs(dense).argmax(axis=1) if len(dense) else np.zeros(0, int)
    slope = np.where(several, 1.0, dense[np.arange(len(dense)), column])
    known: dict[bytes, int] = {}
    direction = np.full(len(dense), -1, np.int32)
    for node in np.flatnonzero(several):
        direction[node] = known.setdefault(dense[node].tobytes(), len(known))
    directions = np.frombuffer(b"".join(known), dtype=np.float64).reshape(-1, dense.shape[1])
    return column, slope, direction, directions.copy()


def _places(direction: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """When to project on which direction, and where to: `due`, `due_until`; the place of a node."""
    by_tree = [
        sorted(set(direction[first:stop].tolist()) - {-1}) for first, stop in pairwise(roots)
    ]
    last = {one: tree for tree, needed in enumerate(by_tree) for one in needed}
    free: list[int] = []
    at: dict[int, int] = {}
    due, due_until = [], np.zeros(len(by_tree), np.int32)
    places = np.zeros(len(direction), np.int32)
    for tree, needed in enumerate(by_tree):
        for one in needed:
            if one not in at:
                at[one] = free.pop() if free else len(at)
                due.append((one, at[one]))
        due_until[tree] = len(due)
        own = np.flatnonzero(direction[roots[tree] : roots[tree + 1]] >= 0) + roots[tree]
        places[own] = [at[one] for one in direction[own].tolist()]
        # Not out of `at`: no later tree asks, and its length counts the places there are.
        free += [at[one] for one in needed if last[one] == tree]
    return np.array(due, np.int32).reshape(-1, 2), due_until, places


@intrinsic
def _first_bit(_typing: Any, word: Any) -> Any:
    """Number of the lowest bit that is 1; the word is not 0."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@njit(nogil=True, cache=True)
def _reached(bits):
    """Place from left to right of the leaf that a row reaches."""
    return _first_bit(np.uint64(bits))  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def _strike_out(columns, start, weight, bias, kept, count, alive):
    """Keep only some bits of the rows that go right."""
    start = np.uint64(start)
    for i in range(np.uint64(count)):
        bits = alive[i]
        goes_right = weight * columns[start + i] + bias >= 0.0
        alive[i] = bits & kept if goes_right else bits


@njit(nogil=True, cache=True, apart=True)
def _bits_of_block(columns, count, d, tree, trees, room, alive):
    """What leaves the rows of a block may reach in a tree, the first of which they do, to alive."""
    done = trees.due_until[tree - 1] if tree else 0
    for at in range(done, trees.due_until[tree]):
        number, place = trees.due[at]
        project(columns, _STRIDE, 0, count, trees.directions, number, room)
        start = (d + place) * _STRIDE
        for i in range(count):
            columns[start + i] = room[i]
    alive[:] = ~np.uint64(0)
    for node in range(trees.roots[tree], trees.roots[tree + 1]):
        _strike_out(
            columns, trees.column[node] * _STRIDE, trees.weight[node], trees.bias[node],
            trees.kept[node], count, alive,
        )  # fmt: skip


@njit(nogil=True, cache=True)
def _turn(X, first, count, columns):
    """Rows of a block, column by column."""
    for i in range(count):
        for j in range(X.shape[1]):
            columns[j * _STRIDE + i] = X[first + i, j]


@njit(nogil=True, cache=True)
def small_sums_of_rows(X, start, stop, trees, n_places, leaf_values, outputs):
    """Sum over trees of the reached leaves' values, added in order."""
    d, width = X.shape[1], outputs.shape[1]
    columns, room = np.empty((d + n_places) * _STRIDE), np.empty(LANES * _BLOCK)
    alive = np.empty(_BLOCK, trees.kept.dtype)
    outputs[start:stop] = 0.0
    for first in range(start, stop, _BLOCK):
        count = min(_BLOCK, stop - first)
        _turn(X, first, count, columns)
        for tree in range(trees.first_leaf.shape[0]):
            _bits_of_block(columns, count, d, tree, trees, room, alive)
            base = np.uint64(trees.first_leaf[tree])
            for i in range(count):
                leaf = np.uint64(trees.leaf_of_bit[base + _reached(alive[i])])
                for k in range(np.uint64(width)):
                    outputs[first + i, k] += leaf_values[leaf, k]


@njit(nogil=True, cache=True)
def small_leaves_of_rows(X, start, stop, trees, n_places, leaves):
    """Leaf of the rows start .. stop - 1 of X in every tree, to leaves (rows, trees)."""
    d = X.shape[1]
    columns, room = np.empty((d + n_places) * _STRIDE), np.empty(LANES * _BLOCK)
    alive = np.empty(_BLOCK, trees.kept.dtype)
    for first in range(start, stop, _BLOCK):
        count = min(_BLOCK, stop - first)
        _turn(X, first, count, columns)
        for tree in range(trees.first_leaf.shape[0]):
            _bits_of_block(columns, count, d, tree, trees, room, alive)
            base = np.uint64(trees.first_leaf[tree])
            for i in range(count):
                leaves[first + i, tree] = trees.leaf_of_bit[base + _reached(alive[i])]
