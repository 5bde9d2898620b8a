"""The tree's gradient as torch's automatic differentiation takes it: hard forward, soft backward.

On the CPU the work is `tree.gradient`'s, in compiled code; on other devices the same closed form is
written out in torch operations, level by level.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgtrees.learn.quantizers import on_cpu
from dgtrees.tree import gradient

__all__ = ["HardLeaf", "MixedLeaves", "closed_form_gradient", "decision_gradient"]


def closed_form_gradient(decisions: Tensor, leaf_scores: Tensor, form: int) -> Tensor:
    """`gradient.tree_gradient` in torch operations, level by level, for devices without Numba."""
    batch, n_nodes = decisions.shape
    height = (n_nodes + 1).bit_length() - 1
    levels = [decisions[:, 2**i - 1 : 2 ** (i + 1) - 1] for i in range(height)]
    p_right = _branch_probabilities(levels, form)
    # Bottom-up: the expected score below every node, V(n) in the paper's recursion.
    below = [leaf_scores]
    for i in reversed(range(height)):
        children = below[0].view(batch, -1, 2)
        below.insert(0, children[..., 0] + p_right[i] * (children[..., 1] - children[..., 0]))
    # Top-down: how likely every node is reached, and so how much its decision matters.
    mean = below[0]
    reach = torch.ones_like(mean)
    slopes = []
    for i in range(height):
        children = below[i + 1].view(batch, -1, 2)
        right = reach * p_right[i]
        left = reach - right
        if form in (gradient.PRODUCT, gradient.HARD):
            # The probabilities are linear in the decision: no normalisation to differentiate.
            slopes.append(0.5 * reach * (children[..., 1] - children[..., 0]))
        else:
            slopes.append(right * (children[..., 1] - mean) - left * (children[..., 0] - mean))
        reach = torch.stack((left, right), dim=2).view(batch, -1)
    return torch.cat(slopes, dim=1) if slopes else torch.zeros_like(decisions)


def _branch_probabilities(levels: list[Tensor], form: int) -> list[Tensor]:
    if form == gradient.PRODUCT:
        return [0.5 + 0.5 * level for level in levels]
    if form == gradient.HARD:
        return [(level >= 0).to(level.dtype) for level in levels]
    if form == gradient.SUM_EQUAL:
        return [torch.sigmoid(2.0 * level) for level in levels]
    # Real margins: a leaf's weight is exp of the sum along its path, so that what lies below a
    # child counts in the choice between the two. In logarithms, which do not overflow.
    p_right: list[Tensor] = []
    log_norm = torch.zeros((), device=levels[0].device if levels else None)
    for level in reversed(levels):
        if p_right:
            pairs = log_norm.view(level.shape[0], -1, 2)
            below_left, below_right = pairs[..., 0], pairs[..., 1]
        else:
            below_left = below_right = torch.zeros_like(level)
        p_right.insert(0, torch.sigmoid(2.0 * level + below_right - below_left))
        log_norm = torch.logaddexp(below_left - level, below_right + level)
    return p_right


def _soft_leaves(decisions: Tensor, form: int) -> Tensor:
    """Soft distribution over leaves (batch, leaves); differentiated by `MixedLeaves`."""
    if on_cpu(decisions):
        out = decisions.new_empty(decisions.shape[0], decisions.shape[1] + 1)
        gradient.leaf_probabilities(decisions.numpy(), form, out.numpy())
        return out
    batch, n_nodes = decisions.shape
    height = (n_nodes + 1).bit_length() - 1
    levels = [decisions[:, 2**i - 1 : 2 ** (i + 1) - 1] for i in range(height)]
    reach = decisions.new_ones(batch, 1)
    for p_right in _branch_probabilities(levels, form):
        right = reach * p_right
        reach = torch.stack((reach - right, right), dim=2).view(batch, -1)
    return reach


def decision_gradient(decisions: Tensor, leaf_scores: Tensor, form: int) -> Tensor:
    """d sum_l q_l leaf_scores_l / d decisions: the Numba kernel on CPU, torch elsewhere."""
    if not on_cpu(decisions):
        return closed_form_gradient(decisions, leaf_scores, form)
    slopes = torch.empty_like(decisions)
    gradient.tree_gradient(
        decisions.numpy(), leaf_scores.contiguous().numpy(), form, slopes.numpy()
    )
    return slopes


def _leaf_scores(grad: Tensor, values: Tensor, weights: Tensor | None, x: Tensor) -> Tensor:
    """c_l = g . (theta_l + U_l x) for every row and every leaf, (batch, leaves)."""
    scores = grad @ values.T
    if weights is not None:
        leaves, outputs, d = weights.shape
        linear = (x @ weights.reshape(-1, d).T).view(x.shape[0], leaves, outputs)
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
        form: int,
    ) -> Tensor:
        """The reached leaf's output, as it is."""
        ctx.save_for_backward(decisions, values, weights, x)
        ctx.form = form
        return output.view_as(output)  # an input returned as it is would be no new node

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The output's gradient as it is, and the decisions' as if leaves were mixed."""
        # One-step chain rule: the loss's gradient times what every leaf would have answered.
        (grad,) = grads
        decisions, values, weights, x = ctx.saved_tensors
        scores = _leaf_scores(grad, values, weights, x)
        return grad, decision_gradient(decisions, scores, ctx.form), None, None, None, None


class MixedLeaves(torch.autograd.Function):
    """Soft distribution over leaves with its exact gradient, for annealed training."""

    @staticmethod
    def forward(ctx: Any, decisions: Tensor, form: int) -> Tensor:
        """The distribution (batch, leaves)."""
        ctx.save_for_backward(decisions)
        ctx.form = form
        return _soft_leaves(decisions, form)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The gradient of the decisions."""
        (decisions,) = ctx.saved_tensors
        return decision_gradient(decisions, grads[0], ctx.form), None
