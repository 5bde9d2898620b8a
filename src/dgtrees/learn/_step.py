"""One step of training, in the phases that its threads share; all of it compiled.

    multiply out   the first layers' product, by slices of nodes
    rows           by blocks of rows: activations, leaves, loss, the tree's gradient
    weights        by slices of nodes: gradients of the layers and of the leaves
    lower layers   the rest of the chain: its highest layer by slices, the others by one thread
    update         the optimiser, by parts of the flat vector

Between phases threads `meet`. Blocks and slices are those of the `Layout`, whatever the number of
threads, and everything that is added up is added in one order: the same bits on any number.

Rows are `_rows`' part, layers `_layers`'.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._layers import layer_gradients, leaf_gradients, lower_gradients, multiply_out
from dgtrees.learn._losses import loss_gradient
from dgtrees.learn._meeting import meet
from dgtrees.learn._rows import (
    activate,
    answer,
    backward_rows,
    gather,
    plain,
    scaled,
    sum_of_sizes,
)
from dgtrees.learn._space import open_settings, open_space
from dgtrees.learn._updates import CHUNK, update
from dgtrees.tree.compiled import njit

__all__ = ["backward", "epoch", "forward", "update_all"]

_FREE = {"contract", "nsz", "reassoc"}


@njit(nogil=True, cache=True)
def _penalize(P, G, first, last, l1, l2):
    for j in range(first, last):
        G[j] += np.float32(l1) * np.sign(P[j]) + np.float32(2 * l2) * P[j]


@njit(nogil=True, cache=True)
def _add_penalties(P, G, layout, how):
    """Gradients of the L1 and L2 penalties on the weights of all layers, and perhaps on biases."""
    if how.penalize_biases:
        end = layout.output_bias_at if layout.output_bias_at >= 0 else layout.slopes_at
        _penalize(P, G, 0, end, how.l1, how.l2)
        return
    before, skipped = layout.n_features + 1, 1
    for i in range(layout.widths.shape[0]):
        for n in range(layout.widths[i]):
            at = layout.weights_at[i] + n * before
            _penalize(P, G, at, at + before - skipped, how.l1, how.l2)
        before, skipped = layout.widths[i], 0


@njit(fastmath=_FREE, nogil=True, cache=True)
def _norm(G):
    total = 0.0
    for i in range(G.shape[0]):
        total += np.float64(G[i]) * np.float64(G[i])
    return np.sqrt(total)


@njit(nogil=True, cache=True, apart=True)
def _finish_gradient(P, G, layout, how, limits):
    """Penalties, and the factor that keeps the gradient's norm within its limit."""
    if how.l1 > 0 or how.l2 > 0:
        _add_penalties(P, G, layout, how)
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
            told = how.optimizer, how.momentum, how.epsilon, factor, speed, decay, step, share
            update(P, G, M, V, average, low, high, *told)


# What is called from outside


@njit(nogil=True, cache=True)
def forward(P, space, told, rows, counters):
    """Outputs of the `rows` rows in `buffers.inputs`, by one thread."""
    layout, buffers = open_space(space).layout, open_space(space).buffers
    how = open_settings(told)
    D, size, spare = layout.n_features + 1, layout.block_rows, buffers.spare[0]
    padded = -(-rows // 16) * 16
    for i in range(rows * D, padded * D):
        buffers.inputs[i] = 0
    multiply_out(spare, P, layout, buffers, 0, 1, counters)
    for block in range(-(-rows // size)):
        first = block * size
        count = min(size, rows - first)
        activate(spare, P, layout, buffers, first, min(size, padded - first))
        if how.scaled:
            buffers.sizes[block] = sum_of_sizes(layout, buffers, first, count)
        answer(P, layout, buffers, first, count)


@njit(nogil=True, cache=True)
def backward(P, G, space, told, rows, counters):
    """After `forward`: the gradient of all parameters from the loss's at the outputs."""
    layout, buffers = open_space(space).layout, open_space(space).buffers
    how = open_settings(told)
    size, padded, spare = layout.block_rows, -(-rows // 16) * 16, buffers.spare[0]
    decisions = scaled(how, layout, buffers, rows)
    for block in range(-(-rows // size)):
        first = block * size
        count, filled = min(size, rows - first), min(size, padded - first)
        backward_rows(spare, P, layout, buffers, first, count, filled, decisions, buffers.work[0])
    for q in range(layout.slices):
        layer_gradients(spare, P, G, layout, buffers, q, padded)
        leaf_gradients(G, layout, buffers, q, rows)
    lower_gradients(spare, P, G, layout, buffers, 0, 1, counters)


@njit(nogil=True, cache=True)
def update_all(P, G, M, V, average, space, told, rate, leaf_rate, step, share, limits):
    """Penalties, clipping and the optimiser's step, by one thread."""
    layout, how = open_space(space).layout, open_settings(told)
    _finish_gradient(P, G, layout, how, limits)
    _update_part(P, G, M, V, average, layout, how, limits[0], rate, leaf_rate, step, share, 0, 1)


@njit(nogil=True, cache=True)
def epoch(
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
    space,
    told,
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
    layout, buffers = open_space(space).layout, open_space(space).buffers
    how = open_settings(told)
    n, K, D = order.shape[0], layout.n_outputs, layout.n_features + 1
    size, work, spare = layout.block_rows, buffers.work[thread], buffers.spare[thread]
    step = 0
    for start in range(0, n, how.batch_size):
        rows = min(how.batch_size, n - start)
        padded, blocks = -(-rows // 16) * 16, -(-rows // size)
        multiply_out(spare, P, layout, buffers, thread, threads, counters)
        for half in range(2 if how.scaled else 1):
            if half == 1:
                meet(counters, threads)  # the size of decisions is a mean over the whole batch
            decisions = scaled(how, layout, buffers, rows) if half == 1 else plain(how)
            for block in range(thread, blocks, threads):
                first = block * size
                count, filled = min(size, rows - first), min(size, padded - first)
                if half == 0:
                    gather(
                        X,
                        order,
                        start + first,
                        count,
                        noise,
                        noise_at[step],
                        np.float32(how.noise),
                        np.float32(how.relative_noise),
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
                    activate(spare, P, layout, buffers, first, filled)
                    if how.scaled:
                        buffers.sizes[block] = sum_of_sizes(layout, buffers, first, count)
                        continue
                answer(P, layout, buffers, first, count)
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
                backward_rows(spare, P, layout, buffers, first, count, filled, decisions, work)
        meet(counters, threads)
        for q in range(thread, layout.slices, threads):
            layer_gradients(spare, P, G, layout, buffers, q, padded)
            leaf_gradients(G, layout, buffers, q, rows)
        meet(counters, threads)
        if layout.prefix > 1:
            lower_gradients(spare, P, G, layout, buffers, thread, threads, counters)
            meet(counters, threads)
        if how.penalized:
            if thread == 0:
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
