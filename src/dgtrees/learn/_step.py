"""One step of training, in the phases that its threads share; all of it compiled.

    multiply out   the first layers' product, by slices of nodes
    rows           by blocks of rows: activations, leaves, loss, the tree's gradient
    weights        by slices of nodes: gradients of the layers and of the leaves
    lower layers   the rest of the chain, by one thread
    update         the optimiser, by parts of the flat vector

Between phases threads `meet`. Blocks and slices are those of the `Layout`, whatever the number of
threads, and everything that is added up is added in one order: the same bits on any number.

Activations of a layer are (width, rows of the batch), so that rows are neighbours; see `gradient`.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._blas import multiply
from dgtrees.learn._losses import loss_gradient
from dgtrees.learn._meeting import meet
from dgtrees.learn._updates import CHUNK, update
from dgtrees.tree.compiled import njit
from dgtrees.tree.gradient import (
    LOCAL,
    Decisions,
    leaf_of_row,
    local_gradient,
    scratch_size,
    tree_gradient,
)

__all__ = ["backward", "epoch", "forward", "hard_nodes", "update_all"]

_FREE = {"contract", "nsz", "reassoc"}


# Products of layers


@njit(nogil=True, cache=True)
def _multiply_layer(blas, P, layout, products, i, first, last):
    """Rows first .. last - 1 of the product of the layers 0 .. i."""
    D, before = layout.n_features + 1, layout.widths[i - 1]
    source, place = (P, 0) if i == 1 else (products, layout.products_at[i - 1])
    to, W = layout.products_at[i] + first * D, layout.weights_at[i] + first * before
    count = last - first
    multiply(blas, 0, 0, count, D, before, P, W, before, source, place, D, products, to, D)
    bias = layout.biases_at[i]
    if bias >= 0:
        for n in range(count):
            products[to + n * D + D - 1] += P[bias + first + n]


@njit(nogil=True, cache=True)
def _multiply_out(blas, P, layout, buffers, thread, threads, counters):
    top = layout.prefix - 1
    if top < 1:
        return
    if top > 1:
        if thread == 0:
            for i in range(1, top):
                _multiply_layer(blas, P, layout, buffers.products, i, 0, layout.widths[i])
        meet(counters, threads)
    width = layout.widths[top]
    for q in range(thread, layout.slices, threads):
        first, last = q * width // layout.slices, (q + 1) * width // layout.slices
        _multiply_layer(blas, P, layout, buffers.products, top, first, last)
    meet(counters, threads)


@njit(nogil=True, cache=True)
def hard_nodes(blas, P, layout, products):
    """The nodes' weights and bias (nodes, d + 1), flat, in float32."""
    last, D = layout.widths.shape[0] - 1, layout.n_features + 1
    for i in range(1, last + 1):
        _multiply_layer(blas, P, layout, products, i, 0, layout.widths[i])
    nodes = layout.widths[last]
    if last == 0:
        return P[: nodes * D].copy()
    at = layout.products_at[last]
    return products[at : at + nodes * D].copy()


# Rows of a batch


@njit(fastmath=_FREE, nogil=True, cache=True, error_model="numpy")
def _gather(X, rows, first, count, noise, start, size, relative, inputs, to):
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


@njit(nogil=True, cache=True)
def _activate(blas, P, layout, buffers, first, rows):
    """Activations of all layers that are not multiplied out, for rows first .. first + rows - 1."""
    D, stride, top = layout.n_features + 1, layout.batch_rows, layout.prefix - 1
    hidden, width = buffers.hidden, layout.widths[top]
    source, place = (P, 0) if top == 0 else (buffers.products, layout.products_at[top])
    to, x = layout.hidden_at[top] + first, first * D
    multiply(blas, 0, 1, width, rows, D, source, place, D, buffers.inputs, x, D, hidden, to, stride)
    for i in range(top + 1, layout.widths.shape[0]):
        before, width = width, layout.widths[i]
        below, to, W = to, layout.hidden_at[i] + first, layout.weights_at[i]
        multiply(
            blas, 0, 0, width, rows, before, P, W, before, hidden, below, stride, hidden, to, stride
        )
        bias = layout.biases_at[i]
        if bias >= 0:
            for n in range(width):
                for j in range(to + n * stride, to + n * stride + rows):
                    hidden[j] += P[bias + n]


@njit(fastmath=_FREE, nogil=True, cache=True)
def _answer(P, layout, buffers, first, rows):
    """Leaves that rows reach, and their outputs."""
    d, K, stride = layout.n_features, layout.n_outputs, layout.batch_rows
    at = layout.hidden_at[layout.widths.shape[0] - 1]
    for i in range(first, first + rows):
        leaf = leaf_of_row(buffers.hidden, at + i, stride, layout.left, layout.right)
        buffers.leaves[i] = leaf
        for k in range(K):
            output = P[layout.leaves_at + leaf * K + k]
            if layout.linear:
                u = P[layout.slopes_at + (leaf * K + k) * d :]
                x = buffers.inputs[i * (d + 1) :]
                for f in range(d):
                    output += u[f] * x[f]
            buffers.outputs[i * K + k] = output


@njit(fastmath=_FREE, nogil=True, cache=True)
def _sum_of_sizes(layout, buffers, first, rows):
    at = layout.hidden_at[layout.widths.shape[0] - 1] + first
    total = 0.0
    for n in range(layout.left.shape[0]):
        for j in range(at + n * layout.batch_rows, at + n * layout.batch_rows + rows):
            total += abs(buffers.hidden[j])
    return total


@njit(fastmath=_FREE, nogil=True, cache=True)
def _score_leaves(blas, P, layout, buffers, first, rows, work, scores, spare):
    """c_l = g . (theta_l + U_l x) of every leaf and row, (leaves, block rows), into `work`."""
    d, K, stride = layout.n_features, layout.n_outputs, layout.block_rows
    leaves = layout.left.shape[0] + 1
    g, V = first * K, layout.leaves_at
    multiply(blas, 0, 1, leaves, rows, K, P, V, K, buffers.slopes, g, K, work, scores, stride)
    if not layout.linear:
        return
    U, x = layout.slopes_at, first * (d + 1)
    multiply(
        blas, 0, 1, leaves * K, rows, d, P, U, d, buffers.inputs, x, d + 1, work, spare, stride
    )
    for leaf in range(leaves):
        for k in range(K):
            to, linear = scores + leaf * stride, spare + (leaf * K + k) * stride
            for j in range(rows):
                work[to + j] += buffers.slopes[g + j * K + k] * work[linear + j]


@njit(nogil=True, cache=True)
def _backward_rows(blas, P, layout, buffers, first, rows, padded, how, work):
    """From the loss's gradient at the outputs to that of all activations, for a block."""
    stride, last = layout.batch_rows, layout.widths.shape[0] - 1
    nodes, K = layout.left.shape[0], layout.n_outputs
    for i in range((first + rows) * K, (first + padded) * K):
        buffers.slopes[i] = 0
    if nodes == 0:
        return
    scores = scratch_size(nodes)
    spare = scores + (nodes + 1) * layout.block_rows
    _score_leaves(blas, P, layout, buffers, first, padded, work, scores, spare)
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
            blas,
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
def _scaled(how, layout, buffers, rows):
    """Decisions of the size of the batch's mean |activation|, where the recipe scales them."""
    count = rows * layout.left.shape[0]
    if not how.scaled or count == 0:
        return how.decisions
    total = 0.0
    for block in range(-(-rows // layout.block_rows)):
        total += buffers.sizes[block]
    told = how.decisions
    largest = 78.0 / max(1, layout.depth)  # `gradient.largest_decision`
    scale = np.float32(min(told.scale * total / count, largest))
    return Decisions(told.quantizer, told.form, scale, told.half_steepness, told.window)


# Gradients of parameters


@njit(fastmath=_FREE, nogil=True, cache=True)
def _row_sums(H, at, stride, first, last, rows, G, to):
    for n in range(first, last):
        total = np.float32(0)
        for j in range(at + n * stride, at + n * stride + rows):
            total += H[j]
        G[to + n] = total


@njit(nogil=True, cache=True)
def _layer_gradients(blas, P, G, layout, buffers, q, rows):
    """Slice q of the layers' gradients, for a batch of so many (padded) rows."""
    D, stride, top = layout.n_features + 1, layout.batch_rows, layout.prefix - 1
    H, at = buffers.hidden, layout.hidden_at[layout.widths.shape[0] - 1]
    for i in range(layout.widths.shape[0] - 1, top, -1):
        width, before = layout.widths[i], layout.widths[i - 1]
        first, last = q * width // layout.slices, (q + 1) * width // layout.slices
        below, to = layout.hidden_at[i - 1], layout.weights_at[i] + first * before
        multiply(
            blas,
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
    multiply(blas, 0, 0, count, D, rows, H, h, stride, X, 0, D, E, up, D)
    if top:
        _chain_down(blas, P, G, layout, buffers, top, first, last)
        before, W = layout.widths[top - 1], layout.weights_at[top] + first * layout.widths[top - 1]
        to = q * before * D
        multiply(blas, 1, 0, before, D, count, P, W, before, E, up, D, buffers.partial, to, D)


@njit(nogil=True, cache=True)
def _chain_down(blas, P, G, layout, buffers, i, first, last):
    """Gradient of layer i from that of the product of layers 0 .. i; rows first .. last - 1."""
    D, before = layout.n_features + 1, layout.widths[i - 1]
    E, up = buffers.product_gradients, layout.products_at[i] + first * D
    below, place = (P, 0) if i == 1 else (buffers.products, layout.products_at[i - 1])
    to, count = layout.weights_at[i] + first * before, last - first
    multiply(blas, 0, 1, count, before, D, E, up, D, below, place, D, G, to, before)
    if layout.biases_at[i] >= 0:
        for n in range(count):
            G[layout.biases_at[i] + first + n] = E[up + n * D + D - 1]


@njit(nogil=True, cache=True)
def _lower_gradients(blas, P, G, layout, buffers):
    """Gradients of the layers below the highest that was multiplied out."""
    D, top = layout.n_features + 1, layout.prefix - 1
    if top < 1:
        return
    size = layout.widths[top - 1] * D
    E, up = (G, 0) if top == 1 else (buffers.product_gradients, layout.products_at[top - 1])
    for j in range(size):
        E[up + j] = buffers.partial[j]
    for q in range(1, layout.slices):
        part = buffers.partial[q * size : (q + 1) * size]
        for j in range(size):
            E[up + j] += part[j]
    for i in range(top - 1, 0, -1):
        width, before, W = layout.widths[i], layout.widths[i - 1], layout.weights_at[i]
        _chain_down(blas, P, G, layout, buffers, i, 0, width)
        to, place = (G, 0) if i == 1 else (buffers.product_gradients, layout.products_at[i - 1])
        multiply(blas, 1, 0, before, D, width, P, W, before, E, up, D, to, place, D)
        E, up = to, place


@njit(nogil=True, cache=True)
def _leaf_gradients(G, layout, buffers, q, rows):
    """Slice q of the leaves' gradients; rows in order."""
    d, K, leaves = layout.n_features, layout.n_outputs, layout.left.shape[0] + 1
    first, last = q * leaves // layout.slices, (q + 1) * leaves // layout.slices
    for i in range(layout.leaves_at + first * K, layout.leaves_at + last * K):
        G[i] = 0
    if layout.linear:
        for i in range(layout.slopes_at + first * K * d, layout.slopes_at + last * K * d):
            G[i] = 0
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


@njit(nogil=True, cache=True)
def _add_penalties(P, G, layout, l1, l2):
    """Gradients of the L1 and L2 penalties on the weights of all layers, not on biases."""
    before, skipped = layout.n_features + 1, 1
    for i in range(layout.widths.shape[0]):
        for n in range(layout.widths[i]):
            at = layout.weights_at[i] + n * before
            for j in range(at, at + before - skipped):
                G[j] += np.float32(l1) * np.sign(P[j]) + np.float32(2 * l2) * P[j]
        before, skipped = layout.widths[i], 0


@njit(fastmath=_FREE, nogil=True, cache=True)
def _norm(G):
    total = 0.0
    for i in range(G.shape[0]):
        total += np.float64(G[i]) * np.float64(G[i])
    return np.sqrt(total)


@njit(nogil=True, cache=True)
def _finish_gradient(P, G, layout, how, limits):
    """Penalties, and the factor that keeps the gradient's norm within its limit."""
    if how.l1 > 0 or how.l2 > 0:
        _add_penalties(P, G, layout, how.l1, how.l2)
    limits[0] = 1.0
    if how.clip > 0:
        limits[0] = min(1.0, how.clip / (_norm(G) + 1e-6))


@njit(nogil=True, cache=True)
def _update_part(
    P, G, M, V, average, layout, how, factor, rate, leaf_rate, step, share, thread, threads
):
    for start, stop, speed, decay in (
        (0, layout.leaves_at, rate, how.weight_decay),
        (layout.leaves_at, layout.size, leaf_rate, 0.0),
    ):
        chunks = -(-(stop - start) // CHUNK)
        low = start + thread * chunks // threads * CHUNK
        high = min(stop, start + (thread + 1) * chunks // threads * CHUNK)
        if high > low:
            told = how.optimizer, how.momentum, factor, speed, decay, step, share
            update(P, G, M, V, average, low, high, *told)


# What is called from outside


@njit(nogil=True, cache=True)
def forward(blas, P, layout, buffers, how, rows, counters):
    """Outputs of the `rows` rows in `buffers.inputs`, by one thread."""
    D, size = layout.n_features + 1, layout.block_rows
    padded = -(-rows // 16) * 16
    for i in range(rows * D, padded * D):
        buffers.inputs[i] = 0
    _multiply_out(blas, P, layout, buffers, 0, 1, counters)
    for block in range(-(-rows // size)):
        first = block * size
        count = min(size, rows - first)
        _activate(blas, P, layout, buffers, first, min(size, padded - first))
        if how.scaled:
            buffers.sizes[block] = _sum_of_sizes(layout, buffers, first, count)
        _answer(P, layout, buffers, first, count)


@njit(nogil=True, cache=True)
def backward(blas, P, G, layout, buffers, how, rows):
    """After `forward`: the gradient of all parameters from the loss's at the outputs."""
    size, padded = layout.block_rows, -(-rows // 16) * 16
    decisions = _scaled(how, layout, buffers, rows)
    for block in range(-(-rows // size)):
        first = block * size
        count, filled = min(size, rows - first), min(size, padded - first)
        _backward_rows(blas, P, layout, buffers, first, count, filled, decisions, buffers.work[0])
    for q in range(layout.slices):
        _layer_gradients(blas, P, G, layout, buffers, q, padded)
        _leaf_gradients(G, layout, buffers, q, rows)
    _lower_gradients(blas, P, G, layout, buffers)


@njit(nogil=True, cache=True)
def update_all(P, G, M, V, average, layout, how, rate, leaf_rate, step, share, limits):
    """Penalties, clipping and the optimiser's step, by one thread."""
    _finish_gradient(P, G, layout, how, limits)
    _update_part(P, G, M, V, average, layout, how, limits[0], rate, leaf_rate, step, share, 0, 1)


@njit(nogil=True, cache=True)
def epoch(
    blas,
    X,
    classes,
    values,
    weights,
    offsets,
    order,
    noise,
    noise_at,
    P,
    G,
    M,
    V,
    average,
    layout,
    buffers,
    how,
    rates,
    leaf_rates,
    done,
    averaged,
    limits,
    thread,
    threads,
    counters,
):
    """One thread's part of a pass over the rows in the given order, in steps of a batch.

    Sums of losses are added to `buffers.losses`, block by block. `done` steps were made before,
    `averaged` of them in this run.
    """
    n, K, D = order.shape[0], layout.n_outputs, layout.n_features + 1
    size, work = layout.block_rows, buffers.work[thread]
    step = 0
    for start in range(0, n, how.batch_size):
        rows = min(how.batch_size, n - start)
        padded, blocks = -(-rows // 16) * 16, -(-rows // size)
        _multiply_out(blas, P, layout, buffers, thread, threads, counters)
        for half in range(2 if how.scaled else 1):
            if half == 1:
                meet(counters, threads)  # the size of decisions is a mean over the whole batch
            decisions = _scaled(how, layout, buffers, rows) if half == 1 else how.decisions
            for block in range(thread, blocks, threads):
                first = block * size
                count, filled = min(size, rows - first), min(size, padded - first)
                if half == 0:
                    _gather(
                        X,
                        order,
                        start + first,
                        count,
                        noise,
                        noise_at[step],
                        how.noise,
                        how.relative_noise,
                        buffers.inputs,
                        first,
                    )
                    for i in range((first + count) * D, (first + filled) * D):
                        buffers.inputs[i] = 0
                    for i in range(first, first + count):
                        row = order[start + i]
                        buffers.weights[i] = weights[row] if weights.shape[0] else 1
                        if classes.shape[0]:
                            buffers.classes[i] = classes[row]
                        else:
                            for k in range(K):
                                buffers.values[i * K + k] = values[row, k]
                    _activate(blas, P, layout, buffers, first, filled)
                    if how.scaled:
                        buffers.sizes[block] = _sum_of_sizes(layout, buffers, first, count)
                        continue
                _answer(P, layout, buffers, first, count)
                if offsets.shape[0]:
                    for i in range(first, first + count):
                        for k in range(K):
                            buffers.outputs[i * K + k] += offsets[order[start + i], k]
                buffers.losses[block] += loss_gradient(
                    how.loss,
                    buffers.outputs,
                    first,
                    count,
                    K,
                    buffers.classes,
                    buffers.values,
                    buffers.weights,
                    rows,
                    how.smoothing,
                    buffers.slopes,
                )
                _backward_rows(blas, P, layout, buffers, first, count, filled, decisions, work)
        meet(counters, threads)
        for q in range(thread, layout.slices, threads):
            _layer_gradients(blas, P, G, layout, buffers, q, padded)
            _leaf_gradients(G, layout, buffers, q, rows)
        meet(counters, threads)
        if layout.prefix > 1 or how.penalized:
            if thread == 0:
                _lower_gradients(blas, P, G, layout, buffers)
                _finish_gradient(P, G, layout, how, limits)
            meet(counters, threads)
        rate, leaf_rate = rates[step], leaf_rates[step]
        step += 1
        share = 1.0 / (1.0 + how.averaging * (averaged + step)) if how.averaging > 0 else 1.0
        _update_part(
            P,
            G,
            M,
            V,
            average,
            layout,
            how,
            limits[0],
            rate,
            leaf_rate,
            done + step,
            share,
            thread,
            threads,
        )
        meet(counters, threads)
