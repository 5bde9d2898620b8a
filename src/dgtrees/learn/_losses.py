"""The losses that training knows by name, with their gradients, for a block of rows.

Each writes d loss / d output of every row, times the row's weight over the number of rows in the
batch, and returns the weighted sum of losses. Outputs and gradients are flat, (rows, outputs).
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dgtrees.tree.compiled import njit

__all__ = ["ABSOLUTE", "CROSS_ENTROPY", "HUBER", "LOSSES", "SHARES", "SQUARED", "loss_gradient"]

CROSS_ENTROPY, SQUARED, HUBER, ABSOLUTE, SHARES = 0, 1, 2, 3, 4
LOSSES = {
    "cross_entropy": CROSS_ENTROPY,
    "squared": SQUARED,
    "huber": HUBER,
    "absolute": ABSOLUTE,
    "shares": SHARES,
}

_FREE = {"contract", "nsz", "reassoc"}


@intrinsic
def _from_bits(_typing, bits):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@njit(fastmath=_FREE, nogil=True, inline="always")
def _exp(x):
    """exp(x) for x <= 0 to float32's precision, in operations that vectorise."""
    x = max(x, np.float32(-87.0))
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    f = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1 / 5040)
    p = p * f + np.float32(1 / 720)
    p = p * f + np.float32(1 / 120)
    p = p * f + np.float32(1 / 24)
    p = p * f + np.float32(1 / 6)
    p = p * f + np.float32(0.5)
    p = p * f * f + f + np.float32(1)
    bits = np.int32((np.int32(n) + np.int32(127)) << np.int32(23))
    return p * _from_bits(bits)  # type: ignore[call-arg]


@njit(fastmath=_FREE, nogil=True, cache=True, apart=True, error_model="numpy")
def _cross_entropy(outputs, first, rows, K, classes, weights, batch, smoothing, gradient):
    total = 0.0
    for i in range(first, first + rows):
        o, g = outputs[i * K : i * K + K], gradient[i * K : i * K + K]
        top = o[0]
        for k in range(1, K):
            top = max(top, o[k])
        z, mean = np.float32(0), np.float32(0)
        for k in range(K):
            e = _exp(o[k] - top)
            g[k] = e
            z += e
            mean += o[k]
        own = classes[i]
        log_norm = np.log(z) + top
        loss = (1 - smoothing) * (log_norm - o[own]) + smoothing * (log_norm - mean / K)
        total += weights[i] * loss
        scale = np.float32(weights[i] / batch)
        share, even = scale / z, scale * np.float32(smoothing / K)
        for k in range(K):
            g[k] = g[k] * share - even
        g[own] -= scale * np.float32(1 - smoothing)
    return total


@njit(fastmath=_FREE, nogil=True, cache=True, apart=True, error_model="numpy")
def _of_shares(outputs, first, rows, K, shares, weights, batch, gradient):
    """Cross-entropy where targets are class shares, which add up to 1."""
    total = 0.0
    for i in range(first, first + rows):
        o, g = outputs[i * K : i * K + K], gradient[i * K : i * K + K]
        share = shares[i * K : i * K + K]
        top = o[0]
        for k in range(1, K):
            top = max(top, o[k])
        z, told = np.float32(0), np.float32(0)
        for k in range(K):
            e = _exp(o[k] - top)
            g[k] = e
            z += e
            told += share[k] * o[k]
        total += weights[i] * (np.log(z) + top - told)
        scale = np.float32(weights[i] / batch)
        for k in range(K):
            g[k] = scale * (g[k] / z - share[k])
    return total


@njit(nogil=True, cache=True, apart=True, error_model="numpy")
def _of_values(kind, outputs, first, rows, K, values, weights, batch, gradient):
    total = 0.0
    for i in range(first, first + rows):
        scale = np.float32(weights[i] / (batch * K))
        for k in range(i * K, i * K + K):
            error = outputs[k] - values[k]
            size = abs(error)
            if kind == SQUARED:
                loss, slope = error * error, np.float32(2) * error
            elif kind == HUBER and size <= 1:
                loss, slope = np.float32(0.5) * error * error, error
            else:
                loss, slope = size, np.float32(np.sign(error))
                if kind == HUBER:
                    loss -= np.float32(0.5)
            total += weights[i] * loss / K
            gradient[k] = scale * slope
    return total


@njit(nogil=True, cache=True, apart=True, error_model="numpy")
def loss_gradient(
    kind, outputs, first, rows, K, classes, values, weights, batch, smoothing, gradient
):
    """Weighted sum of losses of the rows first .. first + rows - 1, and the gradient."""
    if kind == CROSS_ENTROPY:
        return _cross_entropy(outputs, first, rows, K, classes, weights, batch, smoothing, gradient)
    if kind == SHARES:
        return _of_shares(outputs, first, rows, K, values, weights, batch, gradient)
    return _of_values(kind, outputs, first, rows, K, values, weights, batch, gradient)
