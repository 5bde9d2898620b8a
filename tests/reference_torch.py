"""The slow, dense, readable versions that need torch: a complete tree by autograd alone.

Nothing here is used by the library. Node and leaf numbers are those of `dgtrees.tree.topology`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dgtrees.tree.topology import n_leaves
from reference import ancestors, sides


def path_matrix(height: int) -> Tensor:
    """S(i, l) spread over nodes: (nodes, leaves), 0 where node is no ancestor of leaf."""
    matrix = torch.zeros(2**height - 1, n_leaves(height), dtype=torch.float64)
    for i in range(height):
        for leaf in range(n_leaves(height)):
            matrix[ancestors(height)[i, leaf], leaf] = float(sides(height)[i, leaf])
    return matrix


class StraightThroughSign(torch.autograd.Function):
    """sgn(a) with sgn(0) = 1, and derivative 1[|a| <= 1]."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.where(a >= 0, 1.0, -1.0).to(a.dtype)

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * (a.abs() <= 1)


class HardestLeaf(torch.autograd.Function):
    """One-hot of the most probable leaf forward, the identity backward."""

    @staticmethod
    def forward(ctx, q):
        return torch.nn.functional.one_hot(q.argmax(dim=1), q.shape[1]).to(q.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad


def soft_leaves(decisions: Tensor, path: str = "sum") -> Tensor:
    """Distribution over leaves that decisions in [-s, s] define: soft-max of sums, or products."""
    height = (decisions.shape[1] + 1).bit_length() - 1
    matrix = path_matrix(height).to(decisions.dtype)
    if path == "sum":
        return torch.softmax(decisions @ matrix, dim=1)
    q = torch.ones(decisions.shape[0], matrix.shape[1], dtype=decisions.dtype)
    for i in range(height):
        node = torch.as_tensor(ancestors(height)[i])
        side = torch.as_tensor(sides(height)[i]).to(decisions.dtype)
        q = q * (1 + decisions[:, node] * side) / 2
    return q


def tree_output(
    activations: Tensor, leaf_outputs: Tensor, scale: float = 1.0, path: str = "sum"
) -> Tensor:
    """Prediction of a hard tree whose gradient is that of the soft one, by autograd alone.

    `leaf_outputs` is (leaves, outputs), or (batch, leaves, outputs) where leaves are functions of
    x. Leaves receive gradient through the hard choice, nodes through the soft distribution.
    """
    decisions = StraightThroughSign.apply(activations) * scale
    q = soft_leaves(decisions, path)
    hard = torch.nn.functional.one_hot(q.detach().argmax(dim=1), q.shape[1]).to(q.dtype)
    formula = "bl,lk->bk" if leaf_outputs.ndim == 2 else "bl,blk->bk"
    through_leaves = torch.einsum(formula, hard, leaf_outputs)
    through_nodes = torch.einsum(formula, q, leaf_outputs.detach())
    return through_leaves + through_nodes - through_nodes.detach()


class DenseTree(torch.nn.Module):
    """The plain way to train such a tree: a dense path matrix and autograd, for benchmarks."""

    def __init__(self, in_features: int, out_features: int, height: int) -> None:
        super().__init__()
        self.nodes = torch.nn.Linear(in_features, 2**height - 1)
        self.leaves = torch.nn.Parameter(0.1 * torch.randn(2**height, out_features))
        self.register_buffer("paths", path_matrix(height).float())

    def forward(self, x: Tensor) -> Tensor:
        decisions = StraightThroughSign.apply(self.nodes(x))
        q = torch.softmax(decisions @ self.paths, dim=1)
        return HardestLeaf.apply(q) @ self.leaves
