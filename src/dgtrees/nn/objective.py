"""What training minimises, and what validation measures."""

from __future__ import annotations

import torch
from torch import Tensor

from dgtrees.learn.losses import LOSSES, Loss, cross_entropy
from dgtrees.learn.module import TrainableTree
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Rows

__all__ = ["evaluate", "mean_loss", "rank_of", "training_loss"]

# Activations of this many nodes, all rows together, are held at once when rows are evaluated.
_EVALUATED_AT_ONCE = 1 << 22


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
    if loss == "cross_entropy" and recipe.label_smoothing:
        return lambda prediction, y: cross_entropy(prediction, y, recipe.label_smoothing)
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


@torch.no_grad()
def evaluate(
    module: TrainableTree, rows: Rows, classification: bool, loss: Loss
) -> dict[str, float]:
    """Hard predictions on rows: mean loss, and accuracy or root mean squared error."""
    module.eval()
    chunk = max(1, _EVALUATED_AT_ONCE >> module.max_depth)
    prediction = torch.cat([module(x) for x in rows.X.split(chunk)])
    count, weight = len(rows), rows.weight
    result = {"loss": float(mean_loss(loss(prediction, rows.y), count, weight))}
    if classification:
        hit = (prediction.argmax(dim=1) == rows.y).float()
        result["accuracy"] = float(mean_loss(hit, count, weight))
    else:
        error = (prediction - rows.y).square()
        result["rmse"] = float(mean_loss(error, count, weight)) ** 0.5
    return result


def rank_of(metrics: dict[str, float], recipe: Recipe, classification: bool) -> tuple[float, ...]:
    """What the best epoch is best in: accuracy (then loss), RMSE, or a loss of its own."""
    if recipe.loss not in (None, "squared", "cross_entropy"):
        return (-metrics["val_loss"],)
    if classification:
        return (metrics["val_accuracy"], -metrics["val_loss"])
    return (-metrics["val_rmse"],)
