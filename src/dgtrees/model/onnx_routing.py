"""Routing rows to leaves in an ONNX graph: fast where it is certain, exact where it is not.

One matrix product gives every node's w.x + b, and one TreeEnsemble turns their signs into leaves.
A matrix product adds in an order of its own, so a sum within rounding of 0 may come out on the
other side. Which rows could be concerned follows from the rounding-error bound of any order of
summation; they, and only they, are routed a second time with the additions of `tree.dot`. A
row therefore reaches the very leaf that it reaches in Python, ties included.
"""

from __future__ import annotations

import numpy as np

from dgtrees.model.onnx_graph import Graph, fixed_order_dot
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["leaves_of_rows"]

_UNIT = 2.0**-53
_HUGE, _TINY = 1e300, 1e-200
_MOST_LEAVES = 2**24  # TreeEnsembleRegressor answers in float32, exact for whole numbers up to here


def leaves_of_rows(graph: Graph, rows: str, forest: ObliqueForest) -> str:
    """Leaf of every row in every tree, numbered through all trees: int64 (rows, trees)."""
    largest = max(tree.n_leaves for tree in forest.trees)
    if largest > _MOST_LEAVES:
        raise ValueError(
            f"an ONNX tree can have up to {_MOST_LEAVES:,} leaves, got {largest:,}: "
            "prune it, or export C"
        )
    trees = [tree if tree.n_nodes else _with_a_node(tree) for tree in forest.trees]
    weights, bias, smallest = _scaled(trees)
    margins = graph.add("Gemm", rows, graph.constant(weights), graph.constant(bias), transB=1)
    local = graph.cast(_tree_ensemble(graph, margins, trees, forest), "INT64")
    fast = graph.add("Add", local, graph.constant(forest._first_leaf, np.int64))
    doubtful = _doubtful_rows(graph, rows, margins, forest, smallest)
    count = graph.add("ReduceSum", graph.cast(doubtful, "INT64"), keepdims=0)

    def mended(inner: Graph) -> list[str]:
        where = inner.squeezed(inner.add("NonZero", doubtful), 0)
        exact = _exact_leaves(inner, inner.add("Gather", rows, where, axis=0), forest)
        place = inner.add("Unsqueeze", where, inner.constant([1], np.int64))
        return [inner.add("ScatterND", fast, place, exact)]

    any_doubt = graph.add("Greater", count, graph.constant(0, np.int64))
    return graph.choose(any_doubt, mended, lambda inner: [inner.add("Identity", fast)])


def _with_a_node(leaf: ObliqueTree) -> ObliqueTree:
    """A tree of one leaf as a TreeEnsemble can hold it: a decision between twice the same."""
    values = np.repeat(leaf.leaf_values, 2, axis=0)
    return ObliqueTree.complete(np.zeros((1, leaf.n_features)), [0.0], values)


def _scaled(trees: list[ObliqueTree]) -> tuple[np.ndarray, np.ndarray, float]:
    """All nodes' weights and bias, the largest of a node between 1/2 and 1, and the smallest such.

    Scaling by powers of two changes no sign and (above subnormal numbers) no digit; it gives all
    nodes of a row one error bound.
    """
    weights = np.concatenate([tree.weights for tree in trees])
    bias = np.concatenate([tree.bias for tree in trees])
    size = np.maximum(np.abs(weights).max(axis=1), np.abs(bias))
    always = size == 0  # 0 >= 0 for every row
    exponent = np.frexp(size)[1]
    weights = np.ldexp(weights, -exponent[:, None])
    bias = np.where(always, 1.0, np.ldexp(bias, -exponent))
    return weights, bias, float(size[~always].min(initial=1.0))


def _tree_ensemble(
    graph: Graph, margins: str, trees: list[ObliqueTree], forest: ObliqueForest
) -> str:
    """Leaf of every tree from the signs of all nodes' margins: float32 (rows, trees)."""
    nodes: dict[str, list] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    }
    targets: dict[str, list] = {f"target_{name}": [] for name in ("treeids", "nodeids", "ids")}
    weights: list[int] = []
    first = 0
    for number, tree in enumerate(trees):
        inner, total = tree.n_nodes, tree.n_nodes + tree.n_leaves
        at = lambda child, inner=inner: np.where(child >= 0, child, inner + ~child).tolist()  # noqa: E731
        at_leaves = [0] * tree.n_leaves
        nodes["nodes_treeids"] += [number] * total
        nodes["nodes_nodeids"] += range(total)
        nodes["nodes_featureids"] += [*range(first, first + inner), *at_leaves]
        nodes["nodes_modes"] += ["BRANCH_GTE"] * inner + ["LEAF"] * tree.n_leaves
        nodes["nodes_truenodeids"] += at(tree.right) + at_leaves
        nodes["nodes_falsenodeids"] += at(tree.left) + at_leaves
        targets["target_treeids"] += [number] * tree.n_leaves
        targets["target_nodeids"] += range(inner, total)
        targets["target_ids"] += [number] * tree.n_leaves
        weights += range(tree.n_leaves) if forest.trees[number].n_nodes else [0, 0]
        first += inner
    tensor = graph.onnx.numpy_helper.from_array
    return graph.add(
        "TreeEnsembleRegressor",
        margins,
        domain="ai.onnx.ml",
        n_targets=len(trees),
        nodes_values_as_tensor=tensor(np.zeros(len(nodes["nodes_modes"]))),
        target_weights_as_tensor=tensor(np.array(weights, dtype=np.float64)),
        **nodes,
        **targets,
    )


def _doubtful_rows(
    graph: Graph, rows: str, margins: str, forest: ObliqueForest, smallest: float
) -> str:
    """Rows of which some margin is so near to 0 that rounding may decide its sign: bool (rows,).

    Two sums of the same d + 1 terms in any order, with or without fused multiply-adds, differ by
    at most 2 (d + 1) u / (1 - (d + 1) u) times the sum of the terms' absolute values, which here
    is at most |x|_1 + 1; twice that leaves room for the rounding of the bound itself. Rows so
    large that sums overflow, or with NaN, are doubtful too, and all are where weights are so
    small that products vanish.
    """
    bound = 4.0 * (forest.n_features + 2) * _UNIT
    arrays = [array for tree in forest.trees for array in (tree.weights, tree.bias)]
    largest = max(np.abs(array).max(initial=1.0) for array in arrays)
    limit = _HUGE / largest if smallest > _TINY else -1.0
    axis = graph.constant([1], np.int64)
    size = graph.add("ReduceSum", graph.add("Abs", rows), axis, keepdims=0)
    closest = graph.add("ReduceMin", graph.add("Abs", margins), axis, keepdims=0)
    allowed = graph.add("Mul", graph.add("Add", size, graph.constant(1.0)), graph.constant(bound))
    certain = graph.add(
        "And",
        graph.add("Greater", closest, allowed),
        graph.add("LessOrEqual", size, graph.constant(limit)),
    )
    return graph.add("Not", certain)


def _exact_leaves(graph: Graph, rows: str, forest: ObliqueForest) -> str:
    """What `leaves_of_rows` gives, by a dot product for every node on the path and no other."""
    roots, weights, bias, left, right = forest.joined()
    if not len(bias):  # nothing but leaves; the tables must have a row to look at all the same
        weights, bias = np.zeros((1, forest.n_features)), np.zeros(1)
        left = right = np.zeros(1, dtype=np.int32)
    tables = [graph.constant(weights), graph.constant(bias)]
    children = [graph.constant(side, np.int64) for side in (left, right)]
    zero, zero_margin = graph.constant(0, np.int64), graph.constant(0.0)
    count = graph.add("Shape", rows, start=0, end=1)
    levels = graph.constant(np.zeros(max(forest.depth, 1)))
    whole = graph.onnx.TensorProto.INT64

    def one_step(inner: Graph, at: str, _: str) -> list[str]:
        node = inner.add("Max", at, zero)
        weight, shift = (inner.add("Gather", table, node, axis=0) for table in tables)
        product = fixed_order_dot(inner, inner.add("Mul", weight, rows), forest.n_features)
        goes_right = inner.add("GreaterOrEqual", inner.add("Add", product, shift), zero_margin)
        low, high = (inner.add("Gather", side, node, axis=0) for side in children)
        child = inner.add("Where", goes_right, high, low)
        return [inner.add("Where", inner.add("Less", at, zero), at, child)]

    def one_tree(inner: Graph, root: str) -> list[str]:
        start = inner.add("Expand", root, count)
        end = inner.scan([start], [levels], one_step, (whole, None))
        return [inner.add("Sub", inner.add("Neg", end), inner.constant(1, np.int64))]

    leaves = graph.scan([], [graph.constant(roots, np.int64)], one_tree, (whole, None))
    return graph.add("Transpose", leaves, perm=[1, 0])
