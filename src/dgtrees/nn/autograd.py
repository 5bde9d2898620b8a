"""The tree's gradient as torch's automatic differentiation takes it: hard forward, soft backward.

For float32 on the CPU the work is `tree.gradient`'s, in compiled code, which `decision_gradient`
alone calls; for all else the same closed form is written out in torch operations, level by level.

A form says how decisions combine along a path: "equal" and "margins" are the soft-max of their sum,
where they all have one magnitude or any; "product" is the product of (1 + decision) / 2; and
"local" the same after rounding decisions to -1 and 1, so that only the path a row takes counts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dgtrees.tree import gradient
from dgtrees.tree.topology import child_pointers

__all__ = ["HardLeaf", "closed_form_gradient", "decision_gradient", "soft_leaves"]


def decision_gradient(decisions: Tensor, leaf_scores: Tensor, form: str) -> Tensor:
    """Gradient of the expected score of a leaf with respect to decisions, (batch, nodes).

    Parameters
    ----------
    decisions : Tensor of shape (batch, nodes)
    leaf_scores : Tensor of shape (batch, leaves)
    form : "equal", "margins", "product" or "local"
    """
    compiled = all(
        t.device.type == "cpu" and t.dtype == torch.float32 for t in (decisions, leaf_scores)
    )
    if not compiled:
        return closed_form_gradient(decisions, leaf_scores, form)
    number = {"product": gradient.PRODUCT, "local": gradient.LOCAL}.get(form, gradient.SUM)
    height = (decisions.shape[1] + 1).bit_length() - 1
    given, scores = (t.contiguous().numpy() for t in (decisions, leaf_scores))
    left, right = _children(height)
    slopes = gradient.gradient_of_decisions(given, scores, left, right, number, height)
    return torch.from_numpy(slopes)


@cache
def _children(height: int) -> tuple[np.ndarray, np.ndarray]:
    return child_pointers(height)


def closed_form_gradient(decisions: Tensor, leaf_scores: Tensor, form: str) -> Tensor:
    """`decision_gradient` in torch operations, level by level, for any device and dtype."""
    batch = decisions.shape[0]
    p_right = _branch_probabilities(_levels(decisions), form)
    height = len(p_right)
    # Bottom-up: the expected score below every node, V(n) in the paper's recursion.
    below = [leaf_scores]
    for i in reversed(range(height)):
        children = below[0].reshape(batch, 2**i, 2)
        below.insert(0, children[..., 0] + p_right[i] * (children[..., 1] - children[..., 0]))
    # Top-down: how likely every node is reached, and so how much its decision matters.
    mean = below[0]
    reach = torch.ones_like(mean)
    slopes = []
    for i in range(height):
        children = below[i + 1].reshape(batch, 2**i, 2)
        right = reach * p_right[i]
        left = reach - right
        if form in ("product", "local"):
            # The probabilities are linear in the decision: no normalisation to differentiate.
            slopes.append(0.5 * reach * (children[..., 1] - children[..., 0]))
        else:
            slopes.append(right * (children[..., 1] - mean) - left * (children[..., 0] - mean))
        reach = torch.stack((left, right), dim=2).flatten(1)
    return torch.cat(slopes, dim=1) if slopes else torch.zeros_like(decisions)


def _levels(decisions: Tensor) -> list[Tensor]:
    height = (decisions.shape[1] + 1).bit_length() - 1
    return [decisions[:, 2**i - 1 : 2 ** (i + 1) - 1] for i in range(height)]


def _branch_probabilities(levels: list[Tensor], form: str) -> list[Tensor]:
    """Soft probability of going right at every node, level by level."""
    if form == "product":
        return [0.5 + 0.5 * level for level in levels]
    if form == "local":
        return [(level >= 0).to(level.dtype) for level in levels]
    if form == "equal":
        return [torch.sigmoid(2.0 * level) for level in levels]
    # Real margins: a leaf's weight is exp of the sum along its path, so that what lies below a
    # child counts in the choice between the two. In logarithms, which do not overflow.
    p_right: list[Tensor] = []
    log_norm = torch.zeros(())
    for level in reversed(levels):
        below_left = below_right = torch.zeros_like(level)
        if p_right:
            below_left, below_right = log_norm.view(*level.shape, 2).unbind(2)
        p_right.insert(0, torch.sigmoid(2.0 * level + below_right - below_left))
        log_norm = torch.logaddexp(below_left - level, below_right + level)
    return p_right


def soft_leaves(decisions: Tensor, form: str) -> Tensor:
    """Soft distribution over leaves (batch, leaves), which torch differentiates by itself."""
    reach = decisions.new_ones(decisions.shape[0], 1)
    for p_right in _branch_probabilities(_levels(decisions), form):
        right = reach * p_right
        reach = torch.stack((reach - right, right), dim=2).flatten(1)
    return reach


def _leaf_scores(grad: Tensor, values: Tensor, weights: Tensor | None, x: Tensor) -> Tensor:
    """c_l = g . (theta_l + U_l x) for every row and every leaf, (batch, leaves)."""
    grad = grad.to(values.dtype)
    scores = grad @ values.T
    if weights is not None:
        linear = torch.einsum("lkd,bd->blk", weights, x.to(values.dtype))
        scores = scores + torch.einsum("blk,bk->bl", linear, grad)
    return scores


class HardLeaf(torch.autograd.Function):
    """Pass the reached leaf's output through, and send the soft gradient to the decisions."""

    @staticmethod
    def forward(
        ctx: Any,
        output: Tensor,
        decisions: Tensor,
        values: Tensor,
        weights: Tensor | None,
        x: Tensor,
        form: str,
    ) -> Tensor:
        """The reached leaf's output, as it is."""
        ctx.save_for_backward(decisions, values, weights, x)
        ctx.form = form
        return output.view_as(output)  # an input returned as it is would be no new node

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The output's gradient as it is, and the decisions' as if leaves were mixed."""
        # One-step chain rule: the loss's gradient times what every leaf would have answered.
        (grad,) = grads
        decisions, values, weights, x = ctx.saved_tensors
        scores = _leaf_scores(grad, values, weights, x)
        return grad, decision_gradient(decisions, scores, ctx.form), None, None, None, None
