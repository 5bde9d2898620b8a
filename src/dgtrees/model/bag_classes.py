"""BagClasses: two classes of bags of rows, and outputs of bags from those of their rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dgtrees.model.answer import Classes
from dgtrees.schema import shown
from dgtrees.tables.bags import Bags, rows_and_bags

if TYPE_CHECKING:
    from dgtrees.model.model import Model

__all__ = ["BagClasses", "outputs_of_bags"]


@dataclass(frozen=True, eq=False)
class BagClasses(Classes):
    """Outputs are a score of either class, of a row or of a bag.

    Parameters
    ----------
    pooling : {"sum", "max", "mean"}
        How the odds of rows make those of a bag (`tables.bags`).
    """

    pooling: str = "sum"

    def of_bags(self, outputs: np.ndarray, bags: Bags) -> np.ndarray:
        """Outputs (bags, 2) of bags, from those of their rows."""
        scores = bags.pool(outputs[:, 1] - outputs[:, 0], self.pooling)
        return np.stack([np.zeros_like(scores), scores], axis=1)

    def to_header(self) -> dict[str, Any]:
        """Fields of a model file."""
        return {**super().to_header(), "pooling": self.pooling}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Classes as they were in fit."""
        found = super().from_header(header)
        if len(found.labels) != 2:
            raise ValueError(f"classes of bags must be 2, got {shown(header['classes'])}")
        return replace(found, pooling=header["pooling"])


def outputs_of_bags(model: Model, X: Any, bags: Any = None) -> np.ndarray:
    """Outputs of the bags of X in the order of their first rows, or of its rows without any.

    Parameters
    ----------
    X : DataFrame or array-like of shape (rows, columns), or a list of such, one per bag
    bags : array-like of shape (rows,), optional
        The bag of every row.
    """
    answer = model.answer
    if not isinstance(answer, BagClasses):
        if bags is not None:
            raise TypeError(
                "bags must be left out where no bags were labelled in training, got some: "
                "predict rows, or fit a DGTBagClassifier"
            )
        return model.outputs(X)
    X, found = rows_and_bags(X, bags)
    outputs = model.outputs(X)
    return outputs if found is None else answer.of_bags(outputs, found)
