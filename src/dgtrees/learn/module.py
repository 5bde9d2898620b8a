"""TrainableTree: a hard oblique tree that gradients can flow through.

Owns the trainable parameters and the pairing of a hard forward pass with a soft backward pass.
It knows nothing of data sets, epochs or optimisers (`batch.py`) and ends in an `ObliqueTree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from dgtrees.learn.quantizers import QUANTIZERS, Quantizer, compiled
from dgtrees.tree import gradient
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import n_internal, n_leaves

__all__ = ["PAPER_WIDTHS", "TrainableTree", "hidden_widths"]

PAPER_WIDTHS = {2: 240, 4: 600, 6: 1008, 8: 1530, 10: 2046}
"""Width of both hidden layers for L = 3 by height (the paper's table of hidden dimensions)."""

PATHS = ("sum", "product")
LEAVES = ("constant", "linear")


def hidden_widths(
    max_depth: int, n_layers: int, hidden: int | str | Sequence[int] = "paper"
) -> tuple[int, ...]:
    """Widths of the n_layers - 1 hidden linear layers.

    `hidden` is one width for all of them, a sequence of widths, or "paper" for the paper's table
    (heights between its rows take the next larger row's width).

    >>> hidden_widths(6, 3)
    (1008, 1008)
    >>> hidden_widths(6, 2, 128)
    (128,)
    """
    if n_layers == 1:
        return ()
    if hidden == "paper":
        height = next((h for h in sorted(PAPER_WIDTHS) if h >= max_depth), max(PAPER_WIDTHS))
        return (PAPER_WIDTHS[height],) * (n_layers - 1)
    widths: Any = (hidden,) * (n_layers - 1) if isinstance(hidden, Integral) else hidden
    if (
        not isinstance(widths, Sequence)
        or isinstance(widths, str)
        or len(widths) != n_layers - 1
        or not all(isinstance(width, Integral) and int(width) >= 1 for width in widths)
    ):
        raise ValueError(
            f"hidden must be 'paper', a width of at least 1, or n_layers - 1 = {n_layers - 1} of "
            f"them, got {hidden!r}: change hidden or n_layers"
        )
    return tuple(int(width) for width in widths)


def _closed_form_gradient(decisions: Tensor, leaf_scores: Tensor, form: int) -> Tensor:
    """`gradient.tree_gradient` in torch operations, level by level, for devices without Numba."""
    batch, n_nodes = decisions.shape
    height = (n_nodes + 1).bit_length() - 1
    levels = [decisions[:, 2**i - 1 : 2 ** (i + 1) - 1] for i in range(height)]
    p_right = _branch_probabilities(levels, form)
    below = [leaf_scores]
    for i in reversed(range(height)):
        children = below[0].view(batch, -1, 2)
        below.insert(0, children[..., 0] + p_right[i] * (children[..., 1] - children[..., 0]))
    mean = below[0]
    reach = torch.ones_like(mean)
    slopes = []
    for i in range(height):
        children = below[i + 1].view(batch, -1, 2)
        right = reach * p_right[i]
        left = reach - right
        if form in (gradient.PRODUCT, gradient.HARD):
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
    """Soft distribution over leaves (batch, leaves); differentiated by `_MixedLeaves`."""
    if compiled(decisions):
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
    if not compiled(decisions):
        return _closed_form_gradient(decisions, leaf_scores, form)
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


class _HardLeaf(torch.autograd.Function):
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
        ctx.save_for_backward(decisions, values, weights, x)
        ctx.form = form
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        decisions, values, weights, x = ctx.saved_tensors
        scores = _leaf_scores(grad, values, weights, x)
        return grad, decision_gradient(decisions, scores, ctx.form), None, None, None, None


class _MixedLeaves(torch.autograd.Function):
    """Soft distribution over leaves with its exact gradient, for annealed training."""

    @staticmethod
    def forward(ctx: Any, decisions: Tensor, form: int) -> Tensor:
        ctx.save_for_backward(decisions)
        ctx.form = form
        return _soft_leaves(decisions, form)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (decisions,) = ctx.saved_tensors
        return decision_gradient(decisions, grads[0], ctx.form), None


class _Layer(nn.Linear):
    """A linear layer without values yet: the tree draws them, from the generator it is given."""

    def reset_parameters(self) -> None:
        """Leave the values as they are."""


class TrainableTree(nn.Module):
    """A complete oblique tree as a torch layer: hard forward, soft backward.

    Parameters
    ----------
    in_features, out_features : int
        Size of a row and of a prediction.
    max_depth : int
        Height h: 2^h - 1 decision nodes and 2^h leaves.
    n_layers : int, default 1
        Linear layers whose product gives the node weights (L in the paper). They only shape the
        training; `harden` multiplies them out.
    hidden : "paper", int or sequence of int
        Widths of the hidden layers, see `hidden_widths`.
    leaf : "constant" or "linear"
        What a leaf predicts.
    path : "sum" or "product"
        How decisions along a path combine in the backward pass.
    quantizer : str or Quantizer
        "sign", "scaled_sign", "lsq", "annealed", "margin", or a module of your own.
    softmax_scale : float, default 1.0
        Size of a decision in the soft-max over leaves; smaller spreads the gradient wider.
    generator : torch.Generator, optional
        Source of the initial weights; torch's global one otherwise.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> tree = TrainableTree(in_features=4, out_features=3, max_depth=2, n_layers=2, hidden=8)
    >>> tree(torch.randn(5, 4)).shape
    torch.Size([5, 3])
    >>> tree.harden().n_leaves
    4
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        max_depth: int,
        n_layers: int = 1,
        hidden: int | str | Sequence[int] = "paper",
        leaf: str = "constant",
        path: str = "sum",
        quantizer: str | Quantizer = "sign",
        softmax_scale: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        for name, size, least in (
            ("in_features", in_features, 1),
            ("out_features", out_features, 1),
            ("max_depth", max_depth, 0),
            ("n_layers", n_layers, 1),
        ):
            if size < least:
                raise ValueError(f"{name} must be at least {least}, got {size}")
        if path not in PATHS:
            raise ValueError(f"path must be one of {', '.join(PATHS)}, got {path!r}")
        if leaf not in LEAVES:
            raise ValueError(f"leaf must be one of {', '.join(LEAVES)}, got {leaf!r}")
        if isinstance(quantizer, str):
            if quantizer not in QUANTIZERS:
                raise ValueError(
                    f"quantizer must be one of {', '.join(QUANTIZERS)}, got {quantizer!r}"
                )
            quantizer = QUANTIZERS[quantizer](softmax_scale)
        self.in_features, self.out_features = in_features, out_features
        self.max_depth, self.leaf, self.path = max_depth, leaf, path
        self.quantizer = quantizer
        # Late in training a row teaches only the nodes it passes, by what their other child would
        # have given; the soft-max, which reaches all of them, no longer finds a lower loss.
        self.local = False
        widths = (in_features, *hidden_widths(max_depth, n_layers, hidden), n_internal(max_depth))
        # The first layer has a bias, as if the row ended in a constant 1 (the paper's [x; 1]):
        # thresholds then learn as fast as weights do. The last one's is the tree's own.
        self.layers = nn.ModuleList(
            _Layer(a, b, bias=i in (0, n_layers - 1))
            for i, (a, b) in enumerate(pairwise(widths))
            if max_depth > 0
        )
        self.leaf_values = nn.Parameter(torch.zeros(n_leaves(max_depth), out_features))
        self.leaf_weights = (
            nn.Parameter(torch.zeros(n_leaves(max_depth), out_features, in_features))
            if leaf == "linear"
            else None
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw node weights anew, with zero biases and small random leaves."""
        for layer in self.linear_layers():
            bound = layer.in_features**-0.5
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        nn.init.normal_(self.leaf_values, std=0.1, generator=generator)
        if self.leaf_weights is not None:
            nn.init.zeros_(self.leaf_weights)

    @property
    def _form(self) -> int:
        if self.path == "product":
            return gradient.PRODUCT
        return gradient.SUM_EQUAL if self.quantizer.equal_size else gradient.SUM_GENERAL

    def linear_layers(self) -> list[nn.Linear]:
        """The layers whose product is the node weights, first to last."""
        return cast(list[nn.Linear], list(self.layers))

    def leaf_parameters(self) -> list[nn.Parameter]:
        """Constants of the leaves, which want a larger learning rate than everything else.

        A linear leaf's slopes do not: a step moves the prediction by all of them together.
        """
        return [self.leaf_values]

    def activations(self, x: Tensor) -> Tensor:
        """w.x + b of every node, (batch, nodes)."""
        if not len(self.layers):
            return x.new_empty(x.shape[0], 0)
        for layer in self.layers:
            x = layer(x)
        return x

    def leaf_mixture(self, x: Tensor) -> Tensor:
        """Soft distribution of every row over the leaves, (batch, leaves)."""
        return _MixedLeaves.apply(self.quantizer(self.activations(x)), self._form)

    def forward(self, x: Tensor) -> Tensor:
        """Prediction of the reached leaf, (batch, out_features)."""
        if self.quantizer.soft and self.training:
            mixture = self.leaf_mixture(x)
            output = mixture @ self.leaf_values
            if self.leaf_weights is not None:
                output = output + torch.einsum("bl,lkd,bd->bk", mixture, self.leaf_weights, x)
            return output
        decisions = self.quantizer(self.activations(x))
        leaf = self._reached(decisions.detach())
        output = torch.nn.functional.embedding(leaf, self.leaf_values)
        if self.leaf_weights is not None:
            output = output + torch.einsum("bkd,bd->bk", self.leaf_weights[leaf], x)
        if not torch.is_grad_enabled():
            return output
        weights = None if self.leaf_weights is None else self.leaf_weights.detach()
        form = gradient.HARD if self.local else self._form
        return _HardLeaf.apply(
            output, decisions, self.leaf_values.detach(), weights, x.detach(), form
        )

    def _reached(self, decisions: Tensor) -> Tensor:
        batch, n_nodes = decisions.shape
        if compiled(decisions):
            leaf = torch.empty(batch, dtype=torch.int64)
            gradient.leaf_of_decisions(decisions.numpy(), leaf.numpy())
            return leaf
        node = torch.zeros(batch, dtype=torch.int64, device=decisions.device)
        for _ in range(self.max_depth):
            right = decisions.gather(1, node[:, None]).squeeze(1) >= 0
            node = 2 * node + 1 + right
        return node - n_nodes

    @torch.no_grad()
    def harden(self) -> ObliqueTree:
        """The `ObliqueTree` that predicts as this layer does; layers are multiplied in float64."""
        if len(self.layers):
            linear = self.linear_layers()
            product, offset = linear[0].weight.double(), linear[0].bias.double()
            for layer in linear[1:]:
                factor = layer.weight.double()
                product, offset = factor @ product, factor @ offset
                if layer.bias is not None:
                    offset = offset + layer.bias.double()
            bias = offset.cpu().numpy()
            weights = product.cpu().numpy()
        else:
            weights, bias = np.zeros((0, self.in_features)), np.zeros(0)
        return ObliqueTree.complete(
            weights,
            bias,
            self.leaf_values.double().cpu().numpy(),
            None if self.leaf_weights is None else self.leaf_weights.double().cpu().numpy(),
        )
