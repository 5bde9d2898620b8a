"""How a sum of small trees is grown."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["LEAVES", "BoostingSettings"]

LEAVES = "constant", "linear", "mixed"
"""What trees of a sum have; of mixed ones, every second has linear leaves."""


@dataclass(frozen=True)
class BoostingSettings:
    """How a sum of trees is grown.

    Parameters
    ----------
    rounds : int
        Most trees.
    learning_rate : float
        Share of every step that is taken.
    max_leaves, least_rows : int
        Most leaves of a tree, and fewest rows of a leaf.
    ridge : float
        Added to the curvature of every leaf.
    row_share, column_share : float
        Share of the rows, and of the columns and directions, drawn for every tree.
    oblique : bool
        Whether nodes may be oblique.
    linear : bool
        Whether the sum starts from a linear model.
    leaf : str
        One of `LEAVES`.
    varied : bool
        Whether every second of the sums whose mean is the model differs from this: it starts from
        a linear model, and every second tree of it has linear leaves.
    patience : int or None
        Rounds without a lower held-out loss that end training; None never does.
    """

    rounds: int = 1000
    learning_rate: float = 0.1
    max_leaves: int = 31
    least_rows: int = 20
    ridge: float = 1.0
    row_share: float = 1.0
    column_share: float = 1.0
    oblique: bool = True
    linear: bool = False
    leaf: str = "constant"
    patience: int | None = 25
    varied: bool = False

    def of_sum(self, number: int) -> BoostingSettings:
        """Of one of the sums whose mean is the model."""
        if self.varied and number % 2:
            return replace(self, linear=True, leaf="mixed", varied=False)
        return replace(self, varied=False)
