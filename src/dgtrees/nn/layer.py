"""TrainableTree: a hard oblique tree that gradients can flow through.

Owns the trainable parameters and the pairing of a hard forward pass with a soft backward pass.
The backward pass itself is `autograd`'s. It knows nothing of data sets, epochs or optimisers
(`loop`) and ends in an `ObliqueTree`, or in a `Model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from dgtrees.learn.widths import hidden_widths
from dgtrees.model.answer import Answer, Classes, Values
from dgtrees.model.facts import Facts
from dgtrees.model.model import Model, forest_of
from dgtrees.nn.autograd import HardLeaf, soft_leaves
from dgtrees.nn.quantizers import QUANTIZERS, Quantizer
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import n_internal, n_leaves

__all__ = ["TrainableTree"]

PATHS = ("sum", "product")
LEAVES = ("constant", "linear")


class _Layer(nn.Linear):
    """A linear layer without values yet: the tree draws them, from the generator it is given."""

    def reset_parameters(self) -> None:
        """Leave the values as they are."""


class TrainableTree(nn.Module):
    """A complete oblique tree as a torch layer: hard forward, soft backward.

    Inputs (..., in_features) become outputs (..., out_features). The defaults are those of the
    estimators' default recipe. Three more things belong to it and are your loop's part: inputs of
    about unit size (a BatchNorm1d before the tree), a larger learning rate for `leaf_parameters`
    (0.05) than for `node_parameters` (0.003), and decisions that steepen in the course of training
    (`set_progress`). Without the first two a tree learns much less.

    Parameters
    ----------
    in_features, out_features : int
        Size of a row and of a prediction.
    max_depth : int
        Height h: 2^h - 1 decision nodes and 2^h leaves.
    n_layers : int, default 3
        Linear layers whose product gives the node weights (L in the paper). They only shape the
        training; `harden` multiplies them out.
    hidden : "paper", int or sequence of int, default (128, 64)
        Widths of the hidden layers, see `hidden_widths`.
    leaf : "constant" or "linear"
        What a leaf predicts.
    path : "sum" or "product"
        How decisions along a path combine in the backward pass.
    quantizer : str or Quantizer, default "margin"
        "sign", "scaled_sign", "lsq", "annealed", "margin", or a module of your own.
    softmax_scale : float, default 0.88
        Size of a decision in the soft-max over leaves; smaller spreads the gradient wider.
    generator : torch.Generator, optional
        Source of the initial weights; torch's global one otherwise.
    layer_biases, output_bias : bool, default False
        As in `Recipe`.

    Examples
    --------
    A tree as the last layer of a small network:

    >>> import torch
    >>> from dgtrees.nn import TrainableTree
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(500, 4)
    >>> y = (X[:, 0] * X[:, 1] > 0).long()
    >>> below = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))
    >>> tree = TrainableTree(in_features=8, out_features=2, max_depth=3)
    >>> network = torch.nn.Sequential(below, tree)
    >>> nodes = [*below.parameters(), *tree.node_parameters()]
    >>> optimizer = torch.optim.AdamW(
    ...     [{"params": nodes}, {"params": tree.leaf_parameters(), "lr": 0.05}], lr=0.003
    ... )
    >>> for step in range(100):
    ...     tree.set_progress(step / 99)
    ...     loss = torch.nn.functional.cross_entropy(network(X), y)
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    >>> bool((network.eval()(X).argmax(dim=1) == y).float().mean() > 0.9)
    True

    What it has learnt, as a model that needs no torch:

    >>> model = tree.harden(classes=["unlike", "alike"])
    >>> model.predict(below(torch.tensor([[2.0, 2.0, 0.0, 0.0]])).detach().numpy())
    array(['alike'], dtype='<U6')
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        max_depth: int,
        n_layers: int = 3,
        hidden: int | str | Sequence[int] = (128, 64),
        leaf: str = "constant",
        path: str = "sum",
        quantizer: str | Quantizer = "margin",
        softmax_scale: float = 0.88,
        generator: torch.Generator | None = None,
        *,
        layer_biases: bool = False,
        output_bias: bool = False,
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
            _Layer(a, b, bias=layer_biases or i in (0, n_layers - 1))
            for i, (a, b) in enumerate(pairwise(widths))
            if max_depth > 0
        )
        self.output_bias = nn.Parameter(torch.zeros(1)) if output_bias else None
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
        if self.output_bias is not None:
            nn.init.zeros_(self.output_bias)
        if self.leaf_weights is not None:
            nn.init.zeros_(self.leaf_weights)

    def set_progress(self, fraction: float) -> None:
        """Tell how much of the training is done, 0 to 1: decisions steepen, if they have to."""
        self.quantizer.set_progress(fraction)

    @property
    def _form(self) -> str:
        if self.path == "product":
            return "product"
        # With decisions of one size, a node's soft-max does not depend on what lies below it.
        return "equal" if self.quantizer.equal_size else "margins"

    def linear_layers(self) -> list[nn.Linear]:
        """The layers whose product is the node weights, first to last."""
        return cast(list[nn.Linear], list(self.layers))

    def leaf_parameters(self) -> list[nn.Parameter]:
        """Constants of the leaves, which want a larger learning rate than everything else.

        A linear leaf's slopes do not: a step moves the prediction by all of them together.
        """
        return [self.leaf_values]

    def node_parameters(self) -> list[nn.Parameter]:
        """Everything else."""
        return [p for p in self.parameters() if p is not self.leaf_values]

    def activations(self, x: Tensor) -> Tensor:
        """w.x + b of every node, (batch, nodes)."""
        if not len(self.layers):
            return x.new_empty(x.shape[0], 0)
        for layer in self.layers:
            x = layer(x)
        return x

    def leaf_mixture(self, x: Tensor) -> Tensor:
        """Soft distribution of every row over the leaves, (batch, leaves)."""
        return soft_leaves(self.quantizer(self.activations(x)), self._form)

    def forward(self, x: Tensor) -> Tensor:
        """Prediction of the reached leaf for inputs (..., in_features), (..., out_features)."""
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ValueError(
                f"x must have shape (..., {self.in_features}), got {tuple(x.shape)}: change x or "
                "in_features"
            )
        rows = x.reshape(-1, self.in_features)
        output = self._mix(rows) if self.quantizer.soft and self.training else self._pick(rows)
        if self.output_bias is not None:  # the same for all leaves, so that no decision needs it
            output = output + self.output_bias
        return output.reshape(*x.shape[:-1], self.out_features)

    def _mix(self, x: Tensor) -> Tensor:
        """All leaves, weighed by the soft distribution."""
        mixture = self.leaf_mixture(x)
        output = mixture @ self.leaf_values
        if self.leaf_weights is not None:
            output = output + torch.einsum("bl,lkd,bd->bk", mixture, self.leaf_weights, x)
        return output

    def _pick(self, x: Tensor) -> Tensor:
        """The reached leaf, with the gradient of the mixture for the decisions."""
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
        form = "local" if self.local else self._form
        return HardLeaf.apply(
            output, decisions, self.leaf_values.detach(), weights, x.detach(), form
        )

    def _find_leaf(self, decisions: Tensor) -> Tensor:
        """Leaf of every row, (batch,), from the decisions of all nodes."""
        right = (decisions >= 0).long()
        node = right.new_zeros(len(right), 1)
        for _ in range(self.max_depth):
            node = 2 * node + 1 + right.gather(1, node)
        return node.squeeze(1) - right.shape[1]

    @torch.no_grad()
    def to_tree(self) -> ObliqueTree:
        """The `ObliqueTree` that predicts as this layer does; layers are multiplied in float64."""
        # In float64: rounding the product to float32 would move boundaries, and rows across them.
        weights, bias = np.zeros((0, self.in_features)), np.zeros(0)
        if len(self.layers):
            linear = self.linear_layers()
            product, offset = _double(linear[0].weight), _double(linear[0].bias)
            for layer in linear[1:]:
                factor = _double(layer.weight)
                product, offset = factor @ product, factor @ offset
                if layer.bias is not None:
                    offset = offset + _double(layer.bias)
            weights, bias = product.numpy(), offset.numpy()
        slopes = None if self.leaf_weights is None else _double(self.leaf_weights).numpy()
        values = _double(self.leaf_values)
        if self.output_bias is not None:
            values = values + _double(self.output_bias)
        return ObliqueTree.complete(weights, bias, values.numpy(), slopes)

    def harden(
        self, classes: Sequence[Any] | None = None, feature_names: Sequence[str] | None = None
    ) -> Model:
        """A finished model that predicts as this layer does; it needs no torch.

        Parameters
        ----------
        classes : sequence of labels, optional
            What outputs are scores of, in their order. Without it the model answers with values.
        feature_names : sequence of str, optional
            Names of the inputs, x0, x1, ... otherwise.

        Returns
        -------
        Model
            To predict, `save`, `dgtrees.explain`, draw or export.
        """
        tree = self.to_tree()
        answer: Answer = Values(single_output=self.out_features == 1)
        if classes is not None:
            _check_count("classes", classes, "outputs", self.out_features)
            # Model files have classes in order.
            labels, order = np.unique(np.asarray(classes), return_index=True)
            _check_count("different classes", labels, "outputs", self.out_features)
            answer, tree = Classes(labels), _take_outputs(tree, order)
        names = None
        if feature_names is not None:
            _check_count("feature_names", feature_names, "inputs", self.in_features)
            names = tuple(str(name) for name in feature_names)
        kind = type(self).__name__
        return Model(forest_of([tree], answer), answer, alone=True, kind=kind, facts=Facts(names))


def _double(values: Tensor) -> Tensor:
    """In float64 on the CPU, in this order: Apple's GPUs have none."""
    return values.cpu().double()


def _check_count(name: str, given: Any, what: str, count: int) -> None:
    if len(given) != count:
        raise ValueError(
            f"{name} must be as many as {what}, {count}, got {len(given)}: give one for each"
        )


def _take_outputs(tree: ObliqueTree, order: np.ndarray) -> ObliqueTree:
    """The tree with its outputs in another order."""
    slopes = None if tree.leaf_weights is None else tree.leaf_weights[:, order]
    values = tree.leaf_values[:, order]
    return ObliqueTree(tree.weights, tree.bias, tree.left, tree.right, values, slopes)
