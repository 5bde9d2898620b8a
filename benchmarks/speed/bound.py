"""The arithmetic bound of a training step: its matrix products, and nothing else.

A step of the compiled engine consists of products of known shapes (`learn._products`) and of all
the rest: gathering rows, the tree's gradient, the loss, the optimiser. Here the products of one
step are timed alone, each over and over on the same operands, on one thread. No engine that makes
the same products can take less.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numba
import numpy as np

from dgtrees.learn._products import multiply, spare_size
from dgtrees.learn.layout import Layout
from dgtrees.learn.threads import one_thread

__all__ = ["Product", "products", "seconds"]

_BLOCK = 0.01
"""Seconds for which each product is repeated."""


class Product(NamedTuple):
    """C (m, n) = op(A) op(B) over k terms; which of the factors is transposed."""

    ta: int
    tb: int
    m: int
    n: int
    k: int

    @property
    def multiply_adds(self) -> int:
        """Operations, in the usual unit of half of them."""
        return self.m * self.n * self.k


def products(layout: Layout) -> list[Product]:
    """Those of one step, in the order and the forms of `learn._step`; constant leaves."""
    D, rows, top = layout.n_features + 1, layout.batch_rows, layout.prefix - 1
    widths = [int(width) for width in layout.widths]
    multiplied = [(widths[i], widths[i - 1]) for i in range(1, top + 1)]
    applied = [(widths[i], widths[i - 1]) for i in range(top + 1, len(widths))]
    found = [Product(0, 0, width, D, before) for width, before in multiplied]
    found += [Product(0, 1, widths[top], rows, D)]
    found += [Product(0, 0, width, rows, before) for width, before in applied]
    found += [Product(0, 1, len(layout.left) + 1, rows, layout.n_outputs)]
    for width, before in applied:
        found += [Product(0, 1, width, before, rows), Product(1, 0, before, rows, width)]
    found += [Product(0, 0, widths[top], D, rows)]
    for width, before in multiplied:
        found += [Product(0, 1, width, before, D), Product(1, 0, before, D, width)]
    return found


@numba.njit
def _repeat(spare, times, product, A, B, C):  # type: ignore[no-untyped-def]
    ta, tb, m, n, k = product
    lda, ldb = m if ta else k, k if tb else n
    for _ in range(times):
        multiply(spare, ta, tb, m, n, k, A, 0, lda, B, 0, ldb, C, 0, n)


def seconds(wanted: list[Product]) -> float:
    """Processor time of one pass over the products."""
    random = np.random.default_rng(0)
    with one_thread():
        return sum(_seconds(product, random) for product in wanted)


def _seconds(product: Product, random: np.random.Generator) -> float:
    m, n, k = product.m, product.n, product.k
    A, B, C = (random.standard_normal(size, dtype=np.float32) for size in (m * k, k * n, m * n))
    spare = np.empty(spare_size(m, n, k), dtype=np.float32)
    times, gone = 1, 0.0
    _repeat(spare, times, product, A, B, C)  # compiles, warms up
    while gone < _BLOCK:
        times = max(2 * times, int(times * _BLOCK / gone) if gone else 0)
        began = time.thread_time()
        _repeat(spare, times, product, A, B, C)
        gone = time.thread_time() - began
    return gone / times
