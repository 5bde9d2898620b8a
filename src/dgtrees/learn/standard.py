"""Standard: features, and targets of regression, with mean 0 and deviation 1; and the way back.

Targets may be scaled to the range from 0 to 1 instead, or stay as they are.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn.processes import ALONE, Processes
from dgtrees.learn.scaling import streamed_moments, streamed_range
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Standard"]


class Standard:
    """Learnt from the first rows.

    Parameters
    ----------
    first : Examples
    n_classes : int
        0 for regression.
    scaling, target_scaling : str
        As in `Recipe`.
    processes : Processes
        Those that have the rows together.
    """

    def __init__(
        self,
        first: Examples,
        n_classes: int,
        scaling: str = "standard",
        processes: Processes = ALONE,
        target_scaling: str = "standard",
    ) -> None:
        self.n_classes = n_classes
        self.outputs = n_classes or first.y.shape[1]
        features = processes.parts(first, lambda rows: (rows.X, rows.weight))
        self.center, scale = streamed_moments(features, scaling, processes)
        self.constant = scale == 0
        self.scale = np.where(self.constant, 1.0, scale)
        self.y_center, self.y_scale = np.zeros(self.outputs), np.ones(self.outputs)
        if not n_classes and target_scaling != "none":
            values = processes.parts(first, lambda rows: (rows.y, rows.weight))
            self.y_center, self.y_scale = (
                streamed_range(values, processes)
                if target_scaling == "range"
                else streamed_moments(values, "standard", processes)
            )

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Standardised features, (rows, d)."""
        return ((X - self.center) / self.scale).astype(np.float32)

    def targets(self, examples: Examples) -> np.ndarray:
        """One-hot classes or standardised values, (rows, outputs)."""
        if self.n_classes:
            return np.eye(self.n_classes)[examples.y.astype(np.int64)]
        # A constant target has scale 0, which on the way back makes every leaf its mean.
        return (examples.y - self.y_center) / np.where(self.y_scale > 0, self.y_scale, 1.0)

    def unscale(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree on standardised rows as one on the rows themselves."""
        tree = tree.on_unscaled_inputs(self.center, self.scale)
        return tree if self.n_classes else tree.on_scaled_outputs(self.y_center, self.y_scale)

    def without_constants(self, tree: ObliqueTree) -> ObliqueTree:
        """The tree without weights of columns that never varied: they are still random."""
        weights, slopes = np.where(self.constant, 0.0, tree.weights), tree.leaf_weights
        if slopes is not None:
            slopes = np.where(self.constant, 0.0, slopes)
        return ObliqueTree(weights, tree.bias, tree.left, tree.right, tree.leaf_values, slopes)
