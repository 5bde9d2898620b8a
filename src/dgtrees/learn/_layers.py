"""Linear layers of a step: their products, and the gradients of all parameters; compiled.

The first layers are multiplied out before rows come to them (`Layout.prefix`), by slices of the
last one's rows; gradients come back the same way. Slices are those of the `Layout`, and what they
add up is added in one order, so that any thread may take any of them.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._meeting import meet
from dgtrees.learn._products import multiply
from dgtrees.learn._space import open_space
from dgtrees.tree.compiled import njit

__all__ = ["hard_nodes", "layer_gradients", "leaf_gradients", "lower_gradients", "multiply_out"]

_FREE = {"contract", "nsz", "reassoc"}

# Parts of a step are inlined by Numba: compiled one by one, and again with each of their callers,
# they took a quarter of the time before a first fit.


@njit(nogil=True, inline="always")
def _multiply_layer(spare, P, layout, products, i, first, last):
    """Rows first .. last - 1 of the product of the layers 0 .. i."""
    D, before = layout.n_features + 1, layout.widths[i - 1]
    source, place = (P, 0) if i == 1 else (products, layout.products_at[i - 1])
    to, W = layout.products_at[i] + first * D, layout.weights_at[i] + first * before
    count = last - first
    multiply(spare, 0, 0, count, D, before, P, W, before, source, place, D, products, to, D)
    bias = layout.biases_at[i]
    if bias >= 0:
        for n in range(count):
            products[to + n * D + D - 1] += P[bias + first + n]


@njit(nogil=True, cache=True, apart=True)
def multiply_out(spare, P, layout, buffers, thread, threads, counters):
    top = layout.prefix - 1
    if top < 1:
        return
    if top > 1:
        if thread == 0:
            for i in range(1, top):
                _multiply_layer(spare, P, layout, buffers.products, i, 0, layout.widths[i])
        meet(counters, threads)
    width = layout.widths[top]
    for q in range(thread, layout.slices, threads):
        first, last = q * width // layout.slices, (q + 1) * width // layout.slices
        _multiply_layer(spare, P, layout, buffers.products, top, first, last)
    meet(counters, threads)


@njit(nogil=True, cache=True)
def hard_nodes(P, space, products):
    """The nodes' weights and bias (nodes, d + 1), flat, in float32."""
    layout, spare = open_space(space).layout, open_space(space).buffers.spare[0]
    last, D = layout.widths.shape[0] - 1, layout.n_features + 1
    for i in range(1, last + 1):
        _multiply_layer(spare, P, layout, products, i, 0, layout.widths[i])
    nodes = layout.widths[last]
    if last == 0:
        return P[: nodes * D].copy()
    at = layout.products_at[last]
    return products[at : at + nodes * D].copy()


@njit(nogil=True, inline="always")
def _row_sums(H, at, stride, first, last, rows, G, to):
    for n in range(first, last):
        total = np.float32(0)
        for j in range(at + n * stride, at + n * stride + rows):
            total += H[j]
        G[to + n] = total


@njit(nogil=True, cache=True, apart=True)
def layer_gradients(spare, P, G, layout, buffers, q, rows):
    """Slice q of the layers' gradients, for a batch of so many (padded) rows."""
    D, stride, top = layout.n_features + 1, layout.batch_rows, layout.prefix - 1
    H, at = buffers.hidden, layout.hidden_at[layout.widths.shape[0] - 1]
    for i in range(layout.widths.shape[0] - 1, top, -1):
        width, before = layout.widths[i], layout.widths[i - 1]
        first, last = q * width // layout.slices, (q + 1) * width // layout.slices
        below, to = layout.hidden_at[i - 1], layout.weights_at[i] + first * before
        multiply(
            spare,
            0,
            1,
            last - first,
            before,
            rows,
            H,
            at + first * stride,
            stride,
            buffers.hidden,
            below,
            stride,
            G,
            to,
            before,
        )
        if layout.biases_at[i] >= 0:
            _row_sums(H, at, stride, first, last, rows, G, layout.biases_at[i])
        H, at = buffers.hidden_gradients, below
    width = layout.widths[top]
    first, last = q * width // layout.slices, (q + 1) * width // layout.slices
    up = (layout.products_at[top] if top else 0) + first * D
    E = buffers.product_gradients if top else G
    h, X, count = at + first * stride, buffers.inputs, last - first
    multiply(spare, 0, 0, count, D, rows, H, h, stride, X, 0, D, E, up, D)
    if top:
        _chain_down(spare, P, G, layout, buffers, top, first, last)


@njit(nogil=True, inline="always")
def _chain_down(spare, P, G, layout, buffers, i, first, last):
    """Gradient of layer i from that of the product of layers 0 .. i; rows first .. last - 1."""
    D, before = layout.n_features + 1, layout.widths[i - 1]
    E, up = buffers.product_gradients, layout.products_at[i] + first * D
    below, place = (P, 0) if i == 1 else (buffers.products, layout.products_at[i - 1])
    to, count = layout.weights_at[i] + first * before, last - first
    multiply(spare, 0, 1, count, before, D, E, up, D, below, place, D, G, to, before)
    if layout.biases_at[i] >= 0:
        for n in range(count):
            G[layout.biases_at[i] + first + n] = E[up + n * D + D - 1]


@njit(nogil=True, inline="always")
def _pass_down(spare, P, G, layout, buffers, i, first, last):
    """Gradient of the product of layers 0 .. i - 1 from that of 0 .. i; rows first .. last - 1."""
    D, width, before = layout.n_features + 1, layout.widths[i], layout.widths[i - 1]
    E, up, W = buffers.product_gradients, layout.products_at[i], layout.weights_at[i] + first
    to, place = (G, 0) if i == 1 else (E, layout.products_at[i - 1])
    count, place = last - first, place + first * D
    multiply(spare, 1, 0, count, D, width, P, W, before, E, up, D, to, place, D)


@njit(nogil=True, cache=True, apart=True)
def lower_gradients(spare, P, G, layout, buffers, thread, threads, counters):
    """Gradients of the layers below the highest that was multiplied out."""
    top = layout.prefix - 1
    if top < 1:
        return
    width = layout.widths[top - 1]
    for q in range(thread, layout.slices, threads):
        first, last = q * width // layout.slices, (q + 1) * width // layout.slices
        _pass_down(spare, P, G, layout, buffers, top, first, last)
    if top == 1:
        return
    meet(counters, threads)
    if thread == 0:
        for i in range(top - 1, 0, -1):
            _chain_down(spare, P, G, layout, buffers, i, 0, layout.widths[i])
            _pass_down(spare, P, G, layout, buffers, i, 0, layout.widths[i - 1])


@njit(nogil=True, cache=True, apart=True)
def leaf_gradients(G, layout, buffers, q, rows):
    """Slice q of the leaves' gradients, the first with the output bias's; rows in order."""
    d, K, leaves = layout.n_features, layout.n_outputs, layout.left.shape[0] + 1
    first, last = q * leaves // layout.slices, (q + 1) * leaves // layout.slices
    for i in range(layout.leaves_at + first * K, layout.leaves_at + last * K):
        G[i] = 0
    if layout.linear:
        for i in range(layout.slopes_at + first * K * d, layout.slopes_at + last * K * d):
            G[i] = 0
    if q == 0 and layout.output_bias_at >= 0:
        G[layout.output_bias_at] = buffers.slopes[: rows * K].sum()
    for i in range(rows):
        leaf = buffers.leaves[i]
        if first <= leaf < last:
            for k in range(K):
                g = buffers.slopes[i * K + k]
                G[layout.leaves_at + leaf * K + k] += g
                if layout.linear:
                    u = G[layout.slopes_at + (leaf * K + k) * d :]
                    x = buffers.inputs[i * (d + 1) :]
                    for f in range(d):
                        u[f] += g * x[f]
