"""From a node's real-valued activation to its decision: hard forward, soft backward.

A quantizer maps activations a (batch, nodes) to decisions of the same shape whose sign is the
branch taken (>= 0 goes right) and whose size says how sharp the soft-max over leaves is in the
backward pass. Each is a module so that it may own a parameter (LSQ) or a schedule (annealing).

`equal_size` promises that all decisions of a batch have one magnitude, which makes the gradient
kernel cheaper; `soft` says that training mixes leaves instead of picking one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

__all__ = [
    "QUANTIZERS",
    "AnnealedSigmoid",
    "LearnedStep",
    "Margin",
    "Quantizer",
    "ScaledSign",
    "Sign",
]


def _sign(a: Tensor) -> Tensor:
    """1 where a >= 0, else -1: ties go right."""
    return 2.0 * (a >= 0).to(a.dtype) - 1.0


class Quantizer(nn.Module):
    """Base: subclasses map activations to decisions."""

    equal_size = True
    soft = False

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def set_progress(self, fraction: float) -> None:
        """Tell how much of the training is done, 0 to 1; for those that have a schedule."""


class _HardSign(torch.autograd.Function):
    """size * sign(a), with the straight-through derivative slope * 1[|a| <= 1]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, size: float | Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(a)
        ctx.slope = slope
        return size * _sign(a)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (a,) = ctx.saved_tensors
        (grad,) = grads
        return grad * (a.abs() <= 1) * ctx.slope, None, None


class Sign(Quantizer):
    """The sign with the straight-through estimator, as in Algorithm 2 of the paper."""

    def forward(self, a: Tensor) -> Tensor:
        """Decisions of a batch, (batch, nodes)."""
        return _HardSign.apply(a, self.scale, self.scale)


class ScaledSign(Quantizer):
    """The sign times the batch's mean |a| (Rastegari et al. 2016): sharper as training goes on."""

    def forward(self, a: Tensor) -> Tensor:
        """Decisions of a batch, (batch, nodes)."""
        size = a.detach().abs().mean() * self.scale
        return _HardSign.apply(a, size, 1.0)


class _LearnedStep(torch.autograd.Function):
    """alpha * sign(a) with the derivatives of learned step size quantization for one bit."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, alpha: Tensor) -> Tensor:
        ctx.save_for_backward(a, alpha)
        return alpha * _sign(a)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (grad,) = grads
        a, alpha = ctx.saved_tensors
        ratio = a / alpha
        inside = ratio.abs() <= 1
        d_alpha = _sign(a) - ratio * inside
        # The paper's factor 1 / sqrt(size * levels) keeps alpha's updates in proportion.
        return grad * inside, (grad * d_alpha).sum() / max(1, a.numel()) ** 0.5


class LearnedStep(Quantizer):
    """LSQ (Esser et al. 2020): the size of the step is a parameter, started from the data."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(scale)
        self.alpha = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, a: Tensor) -> Tensor:
        """Decisions of a batch, (batch, nodes)."""
        if self.training and not self.started and a.numel():
            with torch.no_grad():
                self.alpha.copy_(2.0 * self.scale * a.abs().mean().clamp_min(1e-3))
                self.started.fill_(True)  # type: ignore[operator]
        return _LearnedStep.apply(a, self.alpha.abs().clamp_min(1e-3))


class AnnealedSigmoid(Quantizer):
    """2 sigmoid(t a) - 1 with t growing during training; soft until it is hardened.

    The paper's ablation (c): while training, the prediction is a mixture of leaves, so the model
    only becomes a tree at the end, by thresholding.
    """

    equal_size = False
    soft = True

    def __init__(
        self, scale: float = 1.0, start: float = 1.0, stop: float = 100.0, schedule: str = "log"
    ) -> None:
        super().__init__(scale)
        self.start, self.stop, self.schedule = start, stop, schedule
        self.steepness = start

    def set_progress(self, fraction: float) -> None:
        """Steepen the sigmoid."""
        if self.schedule == "log":
            self.steepness = self.start * (self.stop / self.start) ** fraction
        else:
            self.steepness = self.start + (self.stop - self.start) * fraction

    def forward(self, a: Tensor) -> Tensor:
        """Decisions of a batch, (batch, nodes)."""
        return self.scale * torch.tanh(0.5 * self.steepness * a)


class Margin(AnnealedSigmoid):
    """Hard branches, whose gradient is the annealed sigmoid's: it knows how clear a decision was.

    Rows near a boundary, which a small step moves to the other side, then count most, where the
    straight-through estimator takes all rows with |a| <= 1 for equally undecided.
    """

    soft = False

    def __init__(
        self, scale: float = 1.0, start: float = 3.0, stop: float = 9.0, schedule: str = "log"
    ) -> None:
        super().__init__(scale, start, stop, schedule)


QUANTIZERS: dict[str, type[Quantizer]] = {
    "sign": Sign,
    "scaled_sign": ScaledSign,
    "lsq": LearnedStep,
    "annealed": AnnealedSigmoid,
    "margin": Margin,
}
