"""What training minimises, and what validation measures: hard predictions of the present tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgtrees.learn.losses import LOSS_NAMES, Loss, differentiated, gradient_of_rows, loss_of_rows
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Rows
from dgtrees.tree import partial_routes, routing

__all__ = ["HardTree", "Objective", "rank_of"]


class Objective:
    """The loss a recipe names or has, for one task.

    `name` is None for a loss of the user's own, which then is `custom`, with its gradient.
    """

    def __init__(self, recipe: Recipe, classification: bool) -> None:
        self.classification, self.smoothing = classification, recipe.label_smoothing
        self.name: str | None = None
        self.custom: Callable | None = None
        loss: str | Loss = recipe.loss or ("cross_entropy" if classification else "squared")
        if not isinstance(loss, str):
            self.custom = differentiated(loss)
            return
        if loss not in LOSS_NAMES:
            raise ValueError(
                f"loss must be a callable or one of {', '.join(LOSS_NAMES)}, got {loss!r}"
            )
        if (loss == "cross_entropy") != classification:
            task = "classification" if classification else "regression"
            raise ValueError(f"loss {loss!r} is not for {task}: choose another or give a callable")
        self.name = loss

    def losses(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Loss of every row, or one number for all of them."""
        if self.custom is not None:
            return self.custom(prediction.astype(np.float32), target)[0]
        assert self.name is not None
        return loss_of_rows(self.name, prediction, target, self.smoothing)

    def gradient(self, prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Losses, and the gradient of every row's with respect to its prediction."""
        if self.custom is not None:
            return self.custom(prediction.copy(), target)
        assert self.name is not None
        told = self.name, prediction, target, self.smoothing
        return loss_of_rows(*told), gradient_of_rows(*told)


class HardTree:
    """The present tree as validation sends rows through it: a few dot products per row."""

    def __init__(
        self,
        nodes: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        values: np.ndarray,
        slopes: np.ndarray | None,
    ) -> None:
        self.values, self.slopes = values, slopes
        self.trees = routing.pack([nodes[:, :-1]], [nodes[:, -1]], [left], [right])

    def scores(self, rows: Rows, objective: Objective) -> dict[str, float]:
        """Mean loss, and accuracy or root mean squared error."""
        leaves = np.empty((len(rows), 1), dtype=np.int32)
        routing.leaves_of_rows(rows.X, 0, len(rows), self.trees, leaves)
        leaf = leaves.reshape(-1)
        outputs = self.values[leaf]
        if self.slopes is not None:
            outputs = np.empty((len(rows), self.values.shape[1]))
            partial_routes.linear_outputs(
                rows.X, 0, len(rows), leaf, self.values, self.slopes, outputs
            )
        if rows.offset is not None:
            outputs = outputs + rows.offset
        result = {"loss": mean(objective.losses(outputs, rows.y), rows.weight)}
        if objective.classification:
            result["accuracy"] = mean(outputs.argmax(axis=1) == rows.y, rows.weight)
        else:
            error = np.square(outputs - rows.y).mean(axis=1)
            result["rmse"] = mean(error, rows.weight) ** 0.5
        return result


def mean(losses: np.ndarray, weight: np.ndarray | None) -> float:
    """Weighted mean of losses (rows,), or of one number for all rows."""
    if np.ndim(losses) == 0:
        if weight is not None:
            raise ValueError(
                "a loss must return one number per row where rows have weights (or repeat), got "
                "one number for the batch: leave out its final mean()"
            )
        return float(losses)
    return float(np.mean(losses if weight is None else losses * weight))


def rank_of(metrics: dict[str, float], recipe: Recipe, classification: bool) -> tuple[float, ...]:
    """What the best epoch is best in: accuracy (then loss), RMSE, or a loss of its own."""
    if recipe.loss not in (None, "squared", "cross_entropy"):
        return (-metrics["val_loss"],)
    if classification:
        return (metrics["val_accuracy"], -metrics["val_loss"])
    return (-metrics["val_rmse"],)
