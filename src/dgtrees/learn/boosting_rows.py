"""Rows as all sums of trees of a boosted model share them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.binning import BinnedRows, bin_rows
from dgtrees.learn.boosting_losses import Loss
from dgtrees.learn.scaling import moments

__all__ = ["BoostingRows", "prepare_rows"]

_EXTREME = 5.0
"""Standardised values beyond are cut off where directions are learnt."""


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """All rows, training and held-out ones, as every sum of trees shares them.

    Parameters
    ----------
    X, standard : float64 ndarray of shape (rows, d)
        As trees get them; and standardised, without extreme values.
    columns : float64 ndarray of shape (d, rows)
        As trees get them, column by column.
    center, scale : ndarray of shape (d,)
    binned : BinnedRows
    y : ndarray of shape (rows, outputs)
    weight : ndarray of shape (rows,)
    loss : Loss
    signs : int8 ndarray of shape (d,)
        1 or -1 for columns that outputs may only rise or fall with.
    """

    X: np.ndarray
    columns: np.ndarray
    standard: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    binned: BinnedRows
    y: np.ndarray
    weight: np.ndarray
    loss: Loss
    signs: np.ndarray

    def unclipped(self, which: np.ndarray | slice) -> np.ndarray:
        """Some rows, standardised."""
        return _standardised(self.X[which], self.center, self.scale)

    @property
    def free(self) -> np.ndarray:
        """Columns that outputs may depend on in any way."""
        return np.flatnonzero(self.signs == 0)


def prepare_rows(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    train: np.ndarray,
    loss: Loss,
    signs: np.ndarray,
) -> BoostingRows:
    """Rows as boosters share them; bins and scales are learnt from the rows `train`."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    center, scale = moments(X[train], weight[train])
    scale = np.where(scale > 0, scale, 1.0)
    standard = np.clip(_standardised(X, center, scale), -_EXTREME, _EXTREME)
    binned = bin_rows(X, train)
    columns = np.ascontiguousarray(X.T)
    return BoostingRows(X, columns, standard, center, scale, binned, y, weight, loss, signs)


def _standardised(X: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # validation rows may be farther off than a float can say
        return np.asarray((X - center) / scale)
