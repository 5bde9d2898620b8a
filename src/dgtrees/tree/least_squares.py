"""Recursive least squares for many actions: inverses that follow every answer, and kept sums.

A *bank* holds one ridge regression per action on rows of D numbers, the last of them 1. Of action k
it keeps ``sums[k] = sum w x x'`` and ``heard[k] = sum w r x``, from which
``inverse[k] = (sums[k] + ridge I)^-1`` can be computed anew, and which no rounding of the updates
of the inverse can touch. Of both matrices only the lower triangle is used. Two regressions share an
inverse: ``slopes[k]`` is that of the rewards and ``ones[k]`` that of the constant 1;
``offset + x'slopes - offset * x'ones`` is then the regression whose ridge draws towards any offset
chosen later, so that a shift of all rewards shifts all predictions and changes nothing else.

All dot products are `dot`'s, so that results do not depend on how a caller was compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot, dot_at

__all__ = [
    "Bank",
    "accumulate",
    "gain",
    "invert",
    "make_bank",
    "predict",
    "update",
]


class Bank(NamedTuple):
    """One regression per action, in two slots: one in use, one in the making."""

    inverse: np.ndarray  # (2, actions, D, D)
    sums: np.ndarray  # (2, actions, D, D)
    heard: np.ndarray  # (2, actions, D)
    slopes: np.ndarray  # (2, actions, D)
    ones: np.ndarray  # (2, actions, D)
    gain: np.ndarray  # (D,), scratch


def make_bank(actions: int, columns: int, ridge: float) -> Bank:
    """Regressions that have seen nothing."""
    inverse = np.zeros((2, actions, columns, columns))
    inverse[..., np.arange(columns), np.arange(columns)] = 1.0 / ridge
    heard, slopes, ones = (np.zeros((2, actions, columns)) for _ in range(3))
    return Bank(inverse, np.zeros_like(inverse), heard, slopes, ones, np.zeros(columns))


@njit(nogil=True)
def _multiply(matrices, slot, k, x, out):
    """Bring the product of an action's symmetric matrix and x to `out`; x' times that."""
    d, matrix = x.shape[0], matrices[slot, k]
    start = (slot * matrices.shape[1] + k) * d * d
    for i in range(d):
        line, xi = matrix[i], x[i]
        for j in range(i):
            out[j] += xi * line[j]
        out[i] = dot_at(matrices, start + i * d, x, 0, i + 1)
    return max(dot(out, x), 0.0)


@njit(nogil=True)
def gain(bank, slot, k, x):
    """Bring inverse @ x to `bank.gain`; x' inverse x, the variance of action k's prediction for x.

    That is where errors have deviation 1.
    """
    return _multiply(bank.inverse, slot, k, x, bank.gain)


@njit(nogil=True)
def predict(bank, slot, k, x, offset):
    """Action k's prediction for x, drawn towards `offset`."""
    d = x.shape[0]
    start = (slot * bank.slopes.shape[1] + k) * d
    one = dot_at(bank.ones, start, x, 0, d)
    return offset + dot_at(bank.slopes, start, x, 0, d) - offset * one


@njit(nogil=True)
def accumulate(bank, slot, k, x, reward, weight):
    """Count one answer into the sums only."""
    sums, heard = bank.sums[slot, k], bank.heard[slot, k]
    for i in range(x.shape[0]):
        heard[i] += weight * reward * x[i]
        share = weight * x[i]
        if share != 0.0:
            for j in range(i + 1):
                sums[i, j] += share * x[j]


@njit(nogil=True, error_model="numpy")
def update(bank, slot, k, x, reward, weight):
    """Count one answer into sums, inverse and both regressions (Sherman and Morrison)."""
    accumulate(bank, slot, k, x, reward, weight)
    q = gain(bank, slot, k, x)
    v, share = bank.gain, weight / (1.0 + weight * q)
    slopes, ones = bank.slopes[slot, k], bank.ones[slot, k]
    miss, lack = share * (reward - dot(slopes, x)), share * (1.0 - dot(ones, x))
    root = np.sqrt(share)
    for i in range(x.shape[0]):
        slopes[i] += miss * v[i]
        ones[i] += lack * v[i]
        v[i] *= root
    inverse = bank.inverse[slot, k]
    for i in range(x.shape[0]):
        u, line = v[i], inverse[i]
        for j in range(i + 1):
            line[j] -= u * v[j]


@njit(nogil=True, error_model="numpy")
def invert(bank, slot, k, ridge):
    """Inverse and regressions of action k from its sums, by Cholesky's decomposition."""
    A, sums = bank.inverse[slot, k], bank.sums[slot, k]
    d = A.shape[0]
    start = (slot * bank.inverse.shape[1] + k) * d * d
    for i in range(d):  # A = L, row by row
        for j in range(i + 1):
            s = sums[i, j] - dot_at(bank.inverse, start + i * d, bank.inverse, start + j * d, j)
            if i == j:
                A[i, i] = np.sqrt(max(s + ridge, 1e-3 * ridge))
            else:
                A[i, j] = s / A[j, j]
    _invert_triangle(A, bank.gain)
    for i in range(d):  # L^-1 ' L^-1, from the transposed triangle above the diagonal
        for j in range(i + 1):
            # Row i of the upper triangle holds column i of L^-1, from place i on.
            s = dot_at(bank.inverse, start + i * d + i, bank.inverse, start + j * d + i, d - i)
            bank.gain[j] = s
        for j in range(i + 1):
            A[i, j] = bank.gain[j]
    _solve(bank, slot, k)


@njit(nogil=True, error_model="numpy")
def _invert_triangle(A, factor):
    """L^-1 in place of L in the lower triangle of A, and transposed in the upper one."""
    d = A.shape[0]
    for i in range(d):
        line, diagonal = A[i], 1.0 / A[i, i]
        for j in range(i):
            factor[j], line[j] = line[j], 0.0
        # Row i of L^-1 is -L_ii^-1 L_i,: L^-1 of the rows above, added up row by row: numbers that
        # lie side by side are added side by side.
        for m in range(i):
            share, above = factor[m], A[m]
            for j in range(m + 1):
                line[j] += share * above[j]
        for j in range(i):
            line[j] *= -diagonal
        line[i] = diagonal
    for i in range(d):
        for j in range(i):
            A[j, i] = A[i, j]


@njit(nogil=True)
def _solve(bank, slot, k):
    """Both regressions from inverse and sums; sums[-1] is that of the rows, as these end in 1."""
    last = bank.sums[slot, k, bank.gain.shape[0] - 1]
    _multiply(bank.inverse, slot, k, bank.heard[slot, k], bank.slopes[slot, k])
    _multiply(bank.inverse, slot, k, last, bank.ones[slot, k])
