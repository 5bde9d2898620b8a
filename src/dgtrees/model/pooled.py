"""Answers for bags of rows, of a model whose training had labels of bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.model.answer import Classes
from dgtrees.tables.bags import rows_and_bags

if TYPE_CHECKING:
    from dgtrees.model.model import Model

__all__ = ["outputs_of_bags"]


def outputs_of_bags(model: Model, X: Any, bags: Any = None) -> np.ndarray:
    """Outputs of the bags of X in the order of their first rows, or of its rows without any.

    Parameters
    ----------
    X : DataFrame or array-like of shape (rows, columns), or a list of such, one per bag
    bags : array-like of shape (rows,), optional
        The bag of every row.
    """
    answer, found = model.answer, None
    if bags is not None or answer.pooling is not None:
        X, found = rows_and_bags(X, bags)
    outputs = model.outputs(X)
    if found is None:
        return outputs
    if not isinstance(answer, Classes):
        raise TypeError("bags must be left out for a model that answers with values, got some")
    return answer.of_bags(outputs, found)
