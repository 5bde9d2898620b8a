"""The best of several trees, as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Best"]


class Best:
    """The best of the trees it is called with; of equals, or without a score, the last.

    Parameters
    ----------
    score : callable(tree), optional
        Larger is better.
    tree : ObliqueTree, optional
        One to begin with.
    """

    def __init__(
        self, score: Callable[[ObliqueTree], float] | None, tree: ObliqueTree | None = None
    ) -> None:
        self._score, self.score = score, -np.inf
        self.tree: Any = None
        if tree is not None:
            self(tree)

    def __call__(self, tree: ObliqueTree) -> float:
        """Take the tree if it is no worse than the best so far; returns its score."""
        score = -np.inf if self._score is None else self._score(tree)
        if score >= self.score:
            self.tree, self.score = tree, score
        return score
