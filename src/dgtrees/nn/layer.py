"""TrainableTree: a hard oblique tree that gradients can flow through.

Owns the trainable parameters and the pairing of a hard forward pass with a soft backward pass.
The backward pass itself is `autograd`'s. It knows nothing of data sets, epochs or optimisers
(`loop`) and ends in an `ObliqueTree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from dgtrees.learn.autograd import HardLeaf, MixedLeaves
from dgtrees.learn.quantizers import QUANTIZERS, Quantizer, on_cpu
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
    widths = (hidden,) * (n_layers - 1) if isinstance(hidden, Integral) else hidden
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
        # torch's own default, 1 / sqrt(inputs), but from a generator that a seed decides.
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
        # With decisions of one size, a node's soft-max does not depend on what lies below it.
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
        return MixedLeaves.apply(self.quantizer(self.activations(x)), self._form)

    def forward(self, x: Tensor) -> Tensor:
        """Prediction of the reached leaf, (batch, out_features)."""
        if self.quantizer.soft and self.training:
            mixture = self.leaf_mixture(x)
            output = mixture @ self.leaf_values
            if self.leaf_weights is not None:
                output = output + torch.einsum("bl,lkd,bd->bk", mixture, self.leaf_weights, x)
            return output
        decisions = self.quantizer(self.activations(x))
        leaf = self._find_leaf(decisions.detach())
        output = torch.nn.functional.embedding(leaf, self.leaf_values)
        if self.leaf_weights is not None:
            output = output + torch.einsum("bkd,bd->bk", self.leaf_weights[leaf], x)
        if not torch.is_grad_enabled():
            return output
        # Leaves learn from `output` alone, by the rows that reach them: what is given here only
        # says what the other leaves would have answered.
        weights = None if self.leaf_weights is None else self.leaf_weights.detach()
        form = gradient.HARD if self.local else self._form
        return HardLeaf.apply(
            output, decisions, self.leaf_values.detach(), weights, x.detach(), form
        )

    def _find_leaf(self, decisions: Tensor) -> Tensor:
        batch, n_nodes = decisions.shape
        if on_cpu(decisions):
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
        # In float64: rounding the product to float32 would move boundaries, and rows across them.
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
