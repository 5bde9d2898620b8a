"""Rows: encoded, standardised rows as training takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """Rows with their targets and weights.

    Parameters
    ----------
    X : ndarray of shape (rows, d), float32
    y : ndarray of shape (rows,), int64, or (rows, outputs), float32
        Class numbers, or values.
    weight : ndarray of shape (rows,), float32, optional
        With mean 1.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return self.X.shape[0]
