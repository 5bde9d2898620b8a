"""The gradient of a hard tree: what every decision contributes to the loss, in closed form.

One kernel for every binary topology, used by the training engine and by the torch layer on CPUs.
With the loss's slope g at a row's output, leaf l scores c_l = g . output_l: what the loss would
gain per unit of that leaf. Soft decisions spread a row over the leaves, and with V(n) the mean
score below node n, C = V(root) and reach(n) the probability of passing n,

    sum:      d/d decision_n = reach(n) (p_right (V(right) - C) - p_left (V(left) - C))
    product:  d/d decision_n = reach(n) (V(right) - V(left)) / 2
    local:    the same with reach 1 on the path that the row takes and 0 elsewhere, and V the score
              of the one leaf that a row sent left or right at n would end in

Two sweeps over the nodes, bottom-up and top-down, for 16 rows at a time (`vectors`). A quantizer
says how an activation becomes a decision, and what slope the decision is given:

    margin:   scale tanh(steepness a / 2), and its own slope
    sign:     scale sgn(a), and a given slope where |a| <= 1 (straight through)
    given:    the activation is the decision, with slope 1

Arrays are flat, float32 and node by node: node n's number of row j lies at n * stride + j, so that
rows are neighbours. Children come after their parents; a child is a node's number or ``~leaf``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.sweeps import (
    GIVEN,
    LOCAL,
    MARGIN,
    PRODUCT,
    SIGN,
    SUM,
    down_product,
    down_product_given,
    down_sum,
    down_sum_given,
    up_given,
    up_given_lean,
    up_margin,
    up_margin_lean,
    up_sign,
    up_sign_lean,
)
from dgtrees.tree.vectors import SATURATED, WIDTH

__all__ = [
    "FORMS",
    "GIVEN",
    "LOCAL",
    "MARGIN",
    "PRODUCT",
    "SIGN",
    "SUM",
    "WIDTH",
    "Decisions",
    "gradient_of_decisions",
    "largest_decision",
    "leaf_of_row",
    "local_gradient",
    "scratch_size",
    "tree_gradient",
]

FORMS = {"sum": SUM, "product": PRODUCT, "local": LOCAL}


class Decisions(NamedTuple):
    """How activations become soft decisions, as float32 where it is no constant of this module.

    `steepness` is halved already; `window` is the slope that the sign gets where |a| <= 1.
    """

    quantizer: int
    form: int
    scale: np.float32
    half_steepness: np.float32
    window: np.float32


def largest_decision(depth: int) -> float:
    """Size that decisions must not exceed in a sum along `depth` nodes, or exp would overflow.

    >>> largest_decision(8)
    9.75
    """
    return 78.0 / max(1, depth)


def scratch_size(nodes: int) -> int:
    """Numbers of scratch space that `tree_gradient` takes."""
    return (4 * nodes + 3) * WIDTH


@njit(nogil=True, cache=True)
def leaf_of_row(activations, start, stride, left, right):
    """Leaf of a row from the activations of all nodes; the first node's lies at `start`."""
    if left.shape[0] == 0:
        return 0
    node = 0
    while node >= 0:
        node = right[node] if activations[start + node * stride] >= 0 else left[node]
    return ~node


@njit(nogil=True, cache=True, apart=True)
def tree_gradient(
    activations, start, stride, rows, left, right, how, depth, work, scores, scores_stride
):
    """Replace activations by the gradient of the scores with respect to them.

    `rows` is a multiple of 16 (rows beyond the last have scores of 0); the first row's activations
    begin at `start`. Scores of leaves lie in `work` from place `scores` on, leaf by leaf
    `scores_stride` apart, and scratch space (`scratch_size`) in the same array before that.
    `depth` is that of the tree. For the forms of sum and product; `local_gradient` does the other.
    """
    nodes = left.shape[0]
    if nodes == 0:
        return
    slopes, rights, norms, values = 0, nodes * WIDTH, 2 * nodes * WIDTH, 3 * nodes * WIDTH
    one = 4 * nodes * WIDTH  # the norm of a leaf, and two vectors that nobody reads
    unread = one + WIDTH
    for j in range(WIDTH):
        work[one + j] = 1
    scale, half, window = how.scale, how.half_steepness, how.window
    margin, given = how.quantizer == MARGIN, how.quantizer == GIVEN
    # Below decisions of one size, complete subtrees weigh the same and need not be weighed.
    complete = nodes + 1 == 1 << depth if depth < 60 else False
    general = how.form == SUM and not (how.quantizer == SIGN and complete)
    lean = np.float32(0.5)
    if how.form == SUM and scale > 0:
        lean = np.float32(np.tanh(scale) / (2 * scale))  # sigmoid(2 s) for decisions of size s
    for first in range(0, rows, WIDTH):
        leaf_at = scores + first
        for n in range(nodes - 1, -1, -1):
            at = start + n * stride + first
            a, b = left[n], right[n]
            low = values + a * WIDTH if a >= 0 else leaf_at + ~a * scores_stride
            high = values + b * WIDTH if b >= 0 else leaf_at + ~b * scores_stride
            zl = norms + a * WIDTH if a >= 0 else one
            zr = norms + b * WIDTH if b >= 0 else one
            s, p = slopes + n * WIDTH, rights + n * WIDTH
            z, v = norms + n * WIDTH, values + n * WIDTH
            A, W, h, w = activations, work, half, window
            if general and margin:
                up_margin(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
            elif general and given:
                up_given(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
            elif general:
                up_sign(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
            elif margin:
                up_margin_lean(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
            elif given:
                up_given_lean(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
            else:
                up_sign_lean(A, at, W, low, high, zl, zr, s, p, z, v, scale, h, w, lean)
        for j in range(WIDTH):
            work[norms + j] = 1  # norms are no longer needed: their place takes the reach
        for n in range(nodes):
            at = start + n * stride + first
            a, b = left[n], right[n]
            low = values + a * WIDTH if a >= 0 else leaf_at + ~a * scores_stride
            high = values + b * WIDTH if b >= 0 else leaf_at + ~b * scores_stride
            rl = norms + a * WIDTH if a >= 0 else unread
            rr = norms + b * WIDTH if b >= 0 else unread + WIDTH
            s, p, z = slopes + n * WIDTH, rights + n * WIDTH, norms + n * WIDTH
            A, W = activations, work
            if how.form == SUM and not given:
                down_sum(A, at, W, low, high, s, p, z, rl, rr, values)
            elif how.form == SUM:
                down_sum_given(A, at, W, low, high, s, p, z, rl, rr, values)
            elif not given:
                down_product(A, at, W, low, high, s, p, z, rl, rr, values)
            else:
                down_product_given(A, at, W, low, high, s, p, z, rl, rr, values)


@njit(nogil=True, cache=True, apart=True)
def local_gradient(
    activations, start, stride, rows, left, right, how, depth, work, scores, scores_stride
):
    """`tree_gradient` for the local form: only the nodes that a row passes learn from it.

    `depth` is that of the tree; `rows` need not be a multiple of 16.
    """
    nodes = left.shape[0]
    if nodes == 0:
        return
    passed = np.empty((rows, depth), np.int32)
    slopes = np.empty((rows, depth), np.float32)
    for j in range(rows):
        at = start + j
        mine = work[scores + leaf_of_row(activations, at, stride, left, right) * scores_stride + j]
        node, level = 0, 0
        while node >= 0:
            a = activations[at + node * stride]
            child, other = (right[node], left[node]) if a >= 0 else (left[node], right[node])
            while other >= 0:
                other = right[other] if activations[at + other * stride] >= 0 else left[other]
            theirs = work[scores + ~other * scores_stride + j]
            gain = mine - theirs if a >= 0 else theirs - mine
            passed[j, level] = node
            slopes[j, level] = np.float32(0.5) * gain * decision_slope(a, how)
            node, level = child, level + 1
        for i in range(level, depth):
            passed[j, i] = -1
    for n in range(nodes):
        for j in range(rows):
            activations[start + n * stride + j] = 0
    for j in range(rows):
        for i in range(depth):
            if passed[j, i] >= 0:
                activations[start + passed[j, i] * stride + j] = slopes[j, i]


@njit(nogil=True, cache=True)
def decision_slope(a, how):
    """Slope of one decision with respect to its activation."""
    if how.quantizer == SIGN:
        return how.window if abs(a) <= 1 else np.float32(0)
    if how.quantizer == GIVEN:
        return np.float32(1)
    x = abs(a * how.half_steepness)
    if x >= SATURATED:
        return np.float32(0)
    e = np.exp(-2 * x)
    return how.scale * how.half_steepness * 4 * e / ((1 + e) * (1 + e))


def gradient_of_decisions(
    decisions: np.ndarray,
    scores: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    form: int,
    depth: int,
) -> np.ndarray:
    """d sum_l q_l scores_l / d decisions, for rows of decisions (rows, nodes) and of scores.

    The kernel for those who have decisions already, row by row, as the torch layer has. `depth` is
    the tree's.
    """
    rows, nodes = decisions.shape
    stride = -(-rows // WIDTH) * WIDTH
    turned = np.zeros((nodes, stride), dtype=np.float32)
    bound = largest_decision(depth) if form == SUM else np.inf
    turned[:, :rows] = np.clip(decisions.T, -bound, bound)
    at = scratch_size(nodes)
    work = np.zeros(at + (nodes + 1) * stride, dtype=np.float32)
    work[at:].reshape(nodes + 1, stride)[:, :rows] = scores.T
    how = Decisions(GIVEN, form, np.float32(1), np.float32(0), np.float32(1))
    flat = turned.reshape(-1)
    if form == LOCAL:
        local_gradient(flat, 0, stride, rows, left, right, how, depth, work, at, stride)
    else:
        tree_gradient(flat, 0, stride, stride, left, right, how, depth, work, at, stride)
    return np.ascontiguousarray(turned[:, :rows].T)
