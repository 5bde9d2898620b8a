"""What training minimises: losses as plain functions of (prediction, target), one number a row.

Targets are (batch, outputs) for regression and integer classes (batch,) for classification.
A user's own loss has the same form and may return one number for the whole batch instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor
from torch.nn import functional

from dgtrees.learn.recipe import Recipe

__all__ = [
    "LOSSES",
    "Loss",
    "absolute",
    "cross_entropy",
    "huber",
    "mean_loss",
    "squared",
    "training_loss",
]

Loss = Callable[[Tensor, Tensor], Tensor]


def squared(prediction: Tensor, target: Tensor) -> Tensor:
    """Squared error, averaged over outputs."""
    return (prediction - target).square().mean(dim=1)


def huber(prediction: Tensor, target: Tensor) -> Tensor:
    """Huber's loss with its corner at one (standardised) unit, averaged over outputs."""
    return functional.huber_loss(prediction, target, reduction="none").mean(dim=1)


def absolute(prediction: Tensor, target: Tensor) -> Tensor:
    """Absolute error, averaged over outputs."""
    return (prediction - target).abs().mean(dim=1)


def cross_entropy(prediction: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of class scores, with `smoothing` of the mass spread over all classes."""
    return functional.cross_entropy(prediction, target, reduction="none", label_smoothing=smoothing)


LOSSES: dict[str, Loss] = {
    "squared": squared,
    "huber": huber,
    "absolute": absolute,
    "cross_entropy": cross_entropy,
}


def training_loss(recipe: Recipe, classification: bool) -> Loss:
    """The loss a recipe names, or its own."""
    loss = recipe.loss or ("cross_entropy" if classification else "squared")
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss must be a callable or one of {', '.join(LOSSES)}, got {loss!r}")
    if (loss == "cross_entropy") != classification:
        task = "classification" if classification else "regression"
        raise ValueError(f"loss {loss!r} is not for {task}: choose another or give a callable")
    if loss == "cross_entropy":
        return partial(cross_entropy, smoothing=recipe.label_smoothing)
    return LOSSES[loss]


def mean_loss(losses: Tensor, rows: int, weight: Tensor | None) -> Tensor:
    """Weighted mean of losses (rows,), (rows, outputs), or of one number for all rows."""
    if losses.ndim == 0:
        if weight is not None:
            raise ValueError(
                "a loss must return one number a row where rows have weights (or repeat), got one "
                "number for the batch: leave out its final mean()"
            )
        return losses
    if losses.ndim == 2:
        losses = losses.mean(dim=1)
    if losses.shape != (rows,):
        raise ValueError(
            f"a loss must return one number a row, ({rows},), got shape {tuple(losses.shape)}"
        )
    return losses.mean() if weight is None else (losses * weight).mean()
