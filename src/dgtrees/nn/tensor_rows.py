"""TensorRows: encoded, standardised rows as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dgtrees.learn.rows import Rows

__all__ = ["TensorRows"]


@dataclass(frozen=True)
class TensorRows:
    """Rows with their targets and weights (mean weight 1)."""

    X: Tensor
    y: Tensor
    weight: Tensor | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    @classmethod
    def of(cls, rows: Rows) -> TensorRows:
        """The same numbers, in the same memory."""
        weight = None if rows.weight is None else torch.from_numpy(rows.weight)
        return cls(torch.from_numpy(rows.X), torch.from_numpy(rows.y), weight)

    def take(self, rows: Tensor) -> TensorRows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TensorRows(self.X[rows], self.y[rows], weight)
