"""Facts: what is known about a model's training, for those that explain, draw or report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Facts"]


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about a model's training; it predicts without.

    Parameters
    ----------
    feature_names : tuple of str, optional
        Names of the input columns, where the table had names.
    leaf_rows : tuple of ndarray of shape (leaves,), optional
        For every tree, the training rows of every leaf.
    feature_scale : ndarray of shape (encoded columns,), optional
        Spread of every encoded column.
    importances : ndarray of shape (columns,), optional
        Importance of every input column.
    scores : dict
        How training went, under the names that model files have for it.
    """

    feature_names: tuple[str, ...] | None = None
    leaf_rows: tuple[np.ndarray, ...] | None = None
    feature_scale: np.ndarray | None = None
    importances: np.ndarray | None = None
    scores: dict[str, Any] = field(default_factory=dict)
