"""Rows of a step, block by block: activations, leaves, and the way back to activations; compiled.

Activations of a layer are (width, rows of the batch), so that rows are neighbours; see `gradient`.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._products import multiply
from dgtrees.tree.compiled import njit
from dgtrees.tree.gradient import (
    LOCAL,
    Decisions,
    leaf_of_row,
    local_gradient,
    tree_gradient,
)

__all__ = ["activate", "answer", "backward_rows", "gather", "plain", "scaled", "sum_of_sizes"]

_FREE = {"contract", "nsz", "reassoc"}

# Parts of a step are inlined by Numba: compiled one by one, and again with each of their callers,
# they took a quarter of the time before a first fit.


@njit(fastmath=_FREE, nogil=True, cache=True, apart=True, error_model="numpy")
def gather(X, rows, first, count, noise, start, size, relative, inputs, to):
    """Rows of X with their noise, each followed by a constant 1."""
    d = X.shape[1]
    flat = X.reshape(-1)
    for i in range(count):
        at, noise_at, place = rows[first + i] * d, start + (to + i) * d, (to + i) * (d + 1)
        x, z = flat[at : at + d], inputs[place : place + d + 1]
        if relative > 0:
            e = noise[noise_at : noise_at + d]
            for f in range(d):
                # Two independent noises add up in their squares.
                z[f] = x[f] + e[f] * np.sqrt(size * size + relative * relative * x[f] * x[f])
        elif size > 0:
            e = noise[noise_at : noise_at + d]
            for f in range(d):
                z[f] = x[f] + size * e[f]
        else:
            for f in range(d):
                z[f] = x[f]
        z[d] = 1


@njit(nogil=True, cache=True, apart=True)
def activate(spare, P, layout, buffers, first, rows):
    """Activations of all layers that are not multiplied out, for rows first .. first + rows - 1."""
    D, stride, top = layout.n_features + 1, layout.batch_rows, layout.prefix - 1
    hidden, width = buffers.hidden, layout.widths[top]
    source, place = (P, 0) if top == 0 else (buffers.products, layout.products_at[top])
    to, x = layout.hidden_at[top] + first, first * D
    X = buffers.inputs
    multiply(spare, 0, 1, width, rows, D, source, place, D, X, x, D, hidden, to, stride)
    for i in range(top + 1, layout.widths.shape[0]):
        before, width = width, layout.widths[i]
        below, to, W = to, layout.hidden_at[i] + first, layout.weights_at[i]
        multiply(
            spare,
            0,
            0,
            width,
            rows,
            before,
            P,
            W,
            before,
            hidden,
            below,
            stride,
            hidden,
            to,
            stride,
        )
        bias = layout.biases_at[i]
        if bias >= 0:
            for n in range(width):
                for j in range(to + n * stride, to + n * stride + rows):
                    hidden[j] += P[bias + n]


@njit(fastmath=_FREE, nogil=True, cache=True, apart=True)
def answer(P, layout, buffers, first, rows):
    """Leaves that rows reach, and their outputs."""
    d, K, stride = layout.n_features, layout.n_outputs, layout.batch_rows
    at = layout.hidden_at[layout.widths.shape[0] - 1]
    for i in range(first, first + rows):
        leaf = leaf_of_row(buffers.hidden, at + i, stride, layout.left, layout.right)
        buffers.leaves[i] = leaf
        for k in range(K):
            output = P[layout.leaves_at + leaf * K + k]
            if layout.output_bias_at >= 0:
                output += P[layout.output_bias_at]
            if layout.linear:
                u = P[layout.slopes_at + (leaf * K + k) * d :]
                x = buffers.inputs[i * (d + 1) :]
                for f in range(d):
                    output += u[f] * x[f]
            buffers.outputs[i * K + k] = output


@njit(fastmath=_FREE, nogil=True, cache=True)
def sum_of_sizes(layout, buffers, first, rows):
    at = layout.hidden_at[layout.widths.shape[0] - 1] + first
    total = 0.0
    for n in range(layout.left.shape[0]):
        for j in range(at + n * layout.batch_rows, at + n * layout.batch_rows + rows):
            total += abs(buffers.hidden[j])
    return total


@njit(nogil=True, inline="always")
def _score_leaves(spare, P, layout, buffers, first, rows, work, scores, linear_at):
    """c_l = g . (theta_l + U_l x) of every leaf and row, (leaves, block rows), into `work`."""
    d, K, stride = layout.n_features, layout.n_outputs, layout.block_rows
    leaves = layout.left.shape[0] + 1
    g, V = first * K, layout.leaves_at
    multiply(spare, 0, 1, leaves, rows, K, P, V, K, buffers.slopes, g, K, work, scores, stride)
    if not layout.linear:
        return
    U, x = layout.slopes_at, first * (d + 1)
    multiply(
        spare, 0, 1, leaves * K, rows, d, P, U, d, buffers.inputs, x, d + 1, work, linear_at, stride
    )
    for leaf in range(leaves):
        for k in range(K):
            to, linear = scores + leaf * stride, linear_at + (leaf * K + k) * stride
            for j in range(rows):
                work[to + j] += buffers.slopes[g + j * K + k] * work[linear + j]


@njit(nogil=True, cache=True, apart=True)
def backward_rows(spare, P, layout, buffers, first, rows, padded, how, work):
    """From the loss's gradient at the outputs to that of all activations, for a block."""
    stride, last = layout.batch_rows, layout.widths.shape[0] - 1
    nodes, K = layout.left.shape[0], layout.n_outputs
    for i in range((first + rows) * K, (first + padded) * K):
        buffers.slopes[i] = 0
    if nodes == 0:
        return
    scores = layout.scores_at
    linear_at = scores + (nodes + 1) * layout.block_rows
    _score_leaves(spare, P, layout, buffers, first, padded, work, scores, linear_at)
    H, at = buffers.hidden, layout.hidden_at[last] + first
    left, right, apart = layout.left, layout.right, layout.block_rows
    if how.form == LOCAL:
        local_gradient(H, at, stride, padded, left, right, how, layout.depth, work, scores, apart)
    else:
        tree_gradient(H, at, stride, padded, left, right, how, layout.depth, work, scores, apart)
    for i in range(last, layout.prefix - 1, -1):
        width, before, W = layout.widths[i], layout.widths[i - 1], layout.weights_at[i]
        to = layout.hidden_at[i - 1] + first
        multiply(
            spare,
            1,
            0,
            before,
            padded,
            width,
            P,
            W,
            before,
            H,
            at,
            stride,
            buffers.hidden_gradients,
            to,
            stride,
        )
        H, at = buffers.hidden_gradients, to


@njit(nogil=True, cache=True)
def plain(how):
    """Decisions as the settings have them, in float32."""
    told = how.decisions
    scale, half = np.float32(told.scale), np.float32(told.half_steepness)
    return Decisions(told.quantizer, told.form, scale, half, np.float32(told.window))


@njit(nogil=True, cache=True)
def scaled(how, layout, buffers, rows):
    """Decisions of the size of the batch's mean |activation|, where the recipe scales them."""
    told, count = plain(how), rows * layout.left.shape[0]
    if not how.scaled or count == 0:
        return told
    total = 0.0
    for block in range(-(-rows // layout.block_rows)):
        total += buffers.sizes[block]
    largest = 78.0 / max(1, layout.depth)  # `gradient.largest_decision`
    scale = np.float32(min(told.scale * total / count, largest))
    return Decisions(told.quantizer, told.form, scale, told.half_steepness, told.window)
