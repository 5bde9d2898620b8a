"""Optimisers: one pass over flat parameters, their gradient, two memories and a running average.

Every element is on its own, so that any part of the vector can be updated by any thread. Parts
begin at multiples of `CHUNK`, which keeps the rounding of an element independent of the parts.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["ADAMW", "CHUNK", "OPTIMIZERS", "RMSPROP", "SGD", "update"]

ADAMW, RMSPROP, SGD = 0, 1, 2
OPTIMIZERS = {"adamw": ADAMW, "rmsprop": RMSPROP, "sgd": SGD}

CHUNK = 1024
_FREE = {"contract", "arcp", "nsz"}
"""What the compiler may change: it does not reorder sums, of which there are none here."""

_BETA1, _BETA2, _SMOOTHING = 0.9, 0.999, 0.99


@njit(fastmath=_FREE, nogil=True, cache=True, error_model="numpy")
def _adamw(P, G, M, V, average, factor, rate, decay, epsilon, step, share):
    c1 = np.float32(rate / (1.0 - _BETA1**step))
    c2 = np.float32(1.0 / np.sqrt(1.0 - _BETA2**step))
    k1, k2 = np.float32(1 - _BETA1), np.float32(1 - _BETA2)
    keep, epsilon = np.float32(1 - rate * decay), np.float32(epsilon)
    for i in range(P.shape[0]):
        g = G[i] * factor
        m, v = M[i] + k1 * (g - M[i]), V[i] + k2 * (g * g - V[i])
        p = P[i] * keep - c1 * m / (np.sqrt(v) * c2 + epsilon)
        M[i], V[i], P[i] = m, v, p
        average[i] += share * (p - average[i])


@njit(fastmath=_FREE, nogil=True, cache=True, error_model="numpy")
def _rmsprop(P, G, M, V, average, factor, rate, decay, epsilon, momentum, share):
    k2, epsilon = np.float32(1 - _SMOOTHING), np.float32(epsilon)
    rate, decay, momentum = np.float32(rate), np.float32(decay), np.float32(momentum)
    for i in range(P.shape[0]):
        g = G[i] * factor + decay * P[i]
        v = V[i] + k2 * (g * g - V[i])
        m = momentum * M[i] + g / (np.sqrt(v) + epsilon)
        p = P[i] - rate * m
        M[i], V[i], P[i] = m, v, p
        average[i] += share * (p - average[i])


@njit(fastmath=_FREE, nogil=True, cache=True, error_model="numpy")
def _sgd(P, G, M, average, factor, rate, decay, momentum, share):
    rate, decay, momentum = np.float32(rate), np.float32(decay), np.float32(momentum)
    for i in range(P.shape[0]):
        m = momentum * M[i] + (G[i] * factor + decay * P[i])
        p = P[i] - rate * m
        M[i], P[i] = m, p
        average[i] += share * (p - average[i])


@njit(nogil=True, cache=True, apart=True, error_model="numpy")
def update(
    P, G, M, V, average, start, stop, optimizer, momentum, epsilon, factor, rate, decay, step, share
):
    """One step for the parameters start .. stop - 1.

    `optimizer` is one of OPTIMIZERS; `factor` multiplies the gradient; `share` is the part of the
    present value in the running average, 1 for no average.
    """
    p, g, m = P[start:stop], G[start:stop], M[start:stop]
    v, a = V[start:stop], average[start:stop]
    factor, share = np.float32(factor), np.float32(share)
    if optimizer == ADAMW:
        _adamw(p, g, m, v, a, factor, rate, decay, epsilon, step, share)
    elif optimizer == RMSPROP:
        _rmsprop(p, g, m, v, a, factor, rate, decay, epsilon, momentum, share)
    else:
        _sgd(p, g, m, a, factor, rate, decay, momentum, share)
