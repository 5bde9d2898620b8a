"""Trees that mix their leaves while training (torch): PAT's, and TEL's, which always do.

Both are `TrainableTree` with one layer and the product of decisions along a path; they differ in
what a node's decision is and in what weighs the leaves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgtrees.nn.layer import TrainableTree
from dgtrees.nn.quantizers import Quantizer
from dgtrees.nn.tensor_losses import LOSSES
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.torch_threads import one_torch_thread

__all__ = ["AnnealedTree", "SmoothForest", "SmoothTree", "losses_before_and_after"]

_CHUNK = 8192


class _Sigmoid(Quantizer):
    """2 sigmoid(a) - 1: the difference of the probabilities of right and left."""

    equal_size = False
    soft = True

    def forward(self, a: Tensor) -> Tensor:
        return torch.tanh(0.5 * a)


class SmoothStep(Quantizer):
    """The smooth step 2 S(a) - 1: exactly -1 or 1 outside a band of width gamma, cubic within."""

    equal_size = False
    soft = True

    def __init__(self, gamma: float) -> None:
        super().__init__(1.0)
        self.gamma = gamma

    def forward(self, a: Tensor) -> Tensor:
        t = (a / self.gamma).clamp(-0.5, 0.5)
        return 3.0 * t - 4.0 * t * t * t


class AnnealedTree(TrainableTree):
    """Leaves weighed by soft-max(scale * product of probabilities); hard in evaluation."""

    scale: Tensor

    def __init__(
        self,
        d: int,
        outputs: int,
        max_depth: int,
        *,
        start: float,
        stop: float,
        schedule: str,
        generator: torch.Generator,
    ) -> None:
        super().__init__(
            d, outputs, max_depth, 1, path="product", quantizer=_Sigmoid(), generator=generator
        )
        self.start, self.stop, self.schedule = start, stop, schedule
        # A buffer, so that the scale of an epoch is kept with its weights.
        self.register_buffer("scale", torch.tensor(start))

    def set_progress(self, fraction: float) -> None:
        """Sharpen the soft-max."""
        scale = self.start + (self.stop - self.start) * fraction
        if self.schedule == "log":
            scale = self.start * (self.stop / self.start) ** fraction
        self.scale.fill_(scale)

    def forward(self, x: Tensor) -> Tensor:
        """Mixture of all leaves while training, the reached leaf in evaluation."""
        if not self.training:
            return super().forward(x)
        return torch.softmax(self.scale * self.leaf_mixture(x), dim=1) @ self.leaf_values


@torch.no_grad()
def losses_before_and_after(
    tree: AnnealedTree, rows: TensorRows, classification: bool
) -> tuple[float, float]:
    """Mean loss of the soft tree and of the hard one, over the same rows."""
    loss = LOSSES["cross_entropy" if classification else "squared"]
    means = []
    with one_torch_thread():
        for soft in (True, False):
            tree.train(soft)
            losses = loss(torch.cat([tree(x) for x in rows.X.split(_CHUNK)]), rows.y)
            means.append(float((losses if rows.weight is None else losses * rows.weight).mean()))
    return means[0], means[1]


class SmoothTree(TrainableTree):
    """Soft tree with smooth-step nodes, in training and in evaluation."""

    def __init__(
        self, d: int, outputs: int, max_depth: int, gamma: float, generator: torch.Generator
    ) -> None:
        quantizer = SmoothStep(gamma)
        super().__init__(
            d, outputs, max_depth, 1, path="product", quantizer=quantizer, generator=generator
        )

    def forward(self, x: Tensor) -> Tensor:
        """Leaves weighed by their path's product."""
        return self.leaf_mixture(x) @ self.leaf_values


class SmoothForest(nn.Module):
    """Sum of several soft trees."""

    def __init__(
        self,
        d: int,
        outputs: int,
        max_depth: int,
        *,
        n_trees: int,
        gamma: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.max_depth = max_depth
        self.trees = nn.ModuleList(
            SmoothTree(d, outputs, max_depth, gamma, generator) for _ in range(n_trees)
        )

    def set_progress(self, fraction: float) -> None:
        """Stay as soft as gamma says."""

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of a batch, (batch, outputs)."""
        total = self.trees[0](x)
        for tree in list(self.trees)[1:]:
            total = total + tree(x)
        return total
