"""Layout: where the parameters of a tree under training lie in one flat vector.

    W_0 (width_0, d + 1)   its last column is the bias, as if every row ended in a constant 1
    W_i (width_i, width_{i-1}), then its bias, if it has one, for i = 1 .. L - 1
    one number that is added to all outputs, if there is one
    slopes of linear leaves (leaves, outputs, d)
    values of leaves (leaves, outputs)

Everything but the leaves' values learns at the nodes' rate. The product of the linear layers gives
the nodes' weights; their first `prefix` are multiplied out before rows come to them, where that
takes fewer operations: the same function and the same gradient, at the price of small products.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._products import spare_size
from dgtrees.learn._space import Buffers, Layout, Space
from dgtrees.tree.by_reference import Held
from dgtrees.tree.gradient import WIDTH, scratch_size

__all__ = ["leaf_arrays", "make_layout", "make_space", "node_arrays"]

_LARGE_STEP = 2e6
"""Multiply-adds of a step, roughly, from which it is cut into parts that threads can share."""

_BLOCK_ROWS, _SLICES = 64, 4
"""Rows and parts of the nodes that a thread takes at once. Part of the result's rounding, so they
depend on the shape of a step and never on the number of threads."""


def make_layout(
    n_features: int,
    n_outputs: int,
    linear: bool,
    hidden: tuple[int, ...],
    left: np.ndarray,
    right: np.ndarray,
    depth: int,
    batch_rows: int,
    layer_biases: bool = False,
    output_bias: bool = False,
) -> Layout:
    """Layout for a tree of this topology, with hidden layers of these widths.

    `layer_biases` and `output_bias` are as in `Recipe`.
    """
    nodes, leaves = len(left), len(left) + 1
    widths = np.array([*(hidden if nodes else ()), nodes], dtype=np.int64)
    weights_at, biases_at, at, before = [], [], 0, n_features + 1
    for i, width in enumerate(widths):
        weights_at.append(at)
        at += int(width) * before
        # The first layer's bias is its last column; the last one's is the tree's own thresholds.
        has_bias = i > 0 and (layer_biases or i == len(widths) - 1)
        biases_at.append(at if has_bias else -1)
        at += int(width) if has_bias else 0
        before = int(width)
    slopes_at = at + output_bias
    leaves_at = slopes_at + (leaves * n_outputs * n_features if linear else 0)
    padded = -(-batch_rows // WIDTH) * WIDTH
    prefix = min(
        range(1, len(widths) + 1), key=lambda c: _operations(n_features, widths, padded, c)
    )
    large = padded * nodes * (n_features + 30) > _LARGE_STEP
    products_at = np.concatenate([[0, 0], np.cumsum(widths[1:]) * (n_features + 1)])
    hidden_at = np.concatenate([np.zeros(prefix - 1), [0], np.cumsum(widths[prefix - 1 :])])
    return Layout(
        n_features=n_features,
        n_outputs=n_outputs,
        linear=linear,
        widths=widths,
        weights_at=np.array(weights_at, dtype=np.int64),
        biases_at=np.array(biases_at, dtype=np.int64),
        output_bias_at=at if output_bias else -1,
        slopes_at=slopes_at,
        leaves_at=leaves_at,
        size=leaves_at + leaves * n_outputs,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        depth=depth,
        prefix=prefix,
        batch_rows=padded,
        block_rows=_BLOCK_ROWS if large else padded,
        slices=_SLICES if large else 1,
        scores_at=scratch_size(nodes),
        products_at=products_at.astype(np.int64),
        hidden_at=(hidden_at * padded).astype(np.int64),
    )


def _operations(n_features: int, widths: np.ndarray, rows: int, prefix: int) -> float:
    """Multiply-adds of a step when the first `prefix` layers are multiplied out."""
    D = n_features + 1
    small = sum(3.0 * widths[i] * widths[i - 1] * D for i in range(1, prefix))
    rest = sum(3.0 * rows * widths[i] * widths[i - 1] for i in range(prefix, len(widths)))
    return small + 2.0 * rows * D * widths[prefix - 1] + rest


def make_space(layout: Layout, threads: int) -> Held:
    """The layout with scratch space for so many threads."""
    return Held(Space(layout, _make_buffers(layout, threads)))


def _make_buffers(layout: Layout, threads: int) -> Buffers:
    rows, D, K = layout.batch_rows, layout.n_features + 1, layout.n_outputs
    prefix, widths = layout.prefix, layout.widths
    leaves = len(layout.left) + 1
    blocks = -(-rows // layout.block_rows)
    multiplied = int(widths[1:prefix].sum()) * D
    scores = leaves * layout.block_rows * (1 + (K if layout.linear else 0))

    def single(size: int) -> np.ndarray:
        return np.zeros(max(1, size), dtype=np.float32)

    return Buffers(
        inputs=single(rows * D),
        classes=np.zeros(rows, dtype=np.int64),
        values=single(rows * K),
        weights=single(rows),
        products=single(multiplied),
        product_gradients=single(multiplied),
        hidden=single(int(widths[prefix - 1 :].sum()) * rows),
        hidden_gradients=single(int(widths[prefix - 1 : -1].sum()) * rows),
        outputs=single(rows * K),
        slopes=single(rows * K),
        leaves=np.zeros(rows, dtype=np.int64),
        losses=np.zeros(blocks),
        sizes=np.zeros(blocks),
        work=np.zeros((threads, layout.scores_at + scores), dtype=np.float32),
        spare=np.zeros((threads, _largest_spare(layout)), dtype=np.float32),
    )


def _largest_spare(layout: Layout) -> int:
    """Scratch space for any product of a step: of layers, of rows with them, of leaves."""
    D, K, leaves = layout.n_features + 1, layout.n_outputs, len(layout.left) + 1
    rows, block, widest = layout.batch_rows, layout.block_rows, int(layout.widths.max())
    below = int(layout.widths[:-1].max(initial=1))
    scored = leaves * (K if layout.linear else 1)
    return max(
        spare_size(widest, block, max(D, below)),
        spare_size(scored, block, max(D, K)),
        spare_size(max(widest, D), max(D, below), max(rows, widest)),
    )


def node_arrays(layout: Layout, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (nodes, d) and bias (nodes,) of the tree itself: the layers multiplied out.

    In float64: rounding the product to float32 would move boundaries, and rows across them.
    """
    before, product = layout.n_features + 1, None
    for width, at, bias_at in zip(layout.widths, layout.weights_at, layout.biases_at, strict=True):
        W = P[at : at + width * before].reshape(width, before).astype(np.float64)
        product = W if product is None else W @ product
        if bias_at >= 0:
            product[:, -1] += P[bias_at : bias_at + width]
        before = int(width)
    assert product is not None
    return product[:, :-1], product[:, -1]


def leaf_arrays(layout: Layout, P: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Values (leaves, outputs) and slopes (leaves, outputs, d) of leaves, in float64."""
    leaves = len(layout.left) + 1
    values = P[layout.leaves_at :].reshape(leaves, layout.n_outputs).astype(np.float64)
    if layout.output_bias_at >= 0:
        values += P[layout.output_bias_at]
    if not layout.linear:
        return values, None
    slopes = P[layout.slopes_at : layout.leaves_at].astype(np.float64)
    return values, slopes.reshape(leaves, layout.n_outputs, layout.n_features)
