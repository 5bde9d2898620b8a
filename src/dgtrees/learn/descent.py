"""Descent: a tree under training, and what its optimiser remembers.

Works on rows that are encoded and standardised already; a `Run` is what changes it. Everything
random is a function of seed and epoch, so that a run can be taken up after any step from its arrays
alone, and goes the same way on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtrees.learn.layout import Layout, leaf_arrays, make_layout, node_arrays
from dgtrees.learn.processes import ALONE, Processes
from dgtrees.learn.recipe import TORCH_QUANTIZERS, Recipe
from dgtrees.learn.result import Callback
from dgtrees.learn.rows import Feed
from dgtrees.learn.run import Run
from dgtrees.learn.starts import Start, draw_parameters
from dgtrees.learn.widths import hidden_widths
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Descent", "Parameters"]


@dataclass
class Parameters:
    """The flat vectors that training changes: values, two memories of the optimiser, an average."""

    values: np.ndarray
    first: np.ndarray
    second: np.ndarray
    average: np.ndarray

    @classmethod
    def begin(cls, values: np.ndarray) -> Parameters:
        """Nothing remembered yet."""
        return cls(values, np.zeros_like(values), np.zeros_like(values), values.copy())

    def copy(self) -> Parameters:
        """Independent arrays."""
        return Parameters(*(array.copy() for array in vars(self).values()))


class Descent:
    """A tree and what its optimiser remembers; `begin` a run, or `fit` in one go.

    Parameters
    ----------
    start : Start
    n_features, leaf, recipe
        Length of a row; "constant" or "linear" leaves; how to train.
    classification : bool
        Targets are class numbers (rows,) rather than values (rows, outputs).
    seed : int
    """

    def __init__(
        self,
        start: Start,
        n_features: int,
        leaf: str,
        recipe: Recipe,
        classification: bool,
        seed: int,
    ) -> None:
        if recipe.quantizer in TORCH_QUANTIZERS:
            raise ValueError(
                f"quantizer={recipe.quantizer!r} is trained by torch, for single trees only: use "
                "DGTClassifier or DGTRegressor, or another quantizer"
            )
        self.start, self.n_features, self.leaf = start, n_features, leaf
        self.n_outputs = start.values.shape[1]
        self.classification, self.seed = classification, seed
        self.hidden = hidden_widths(start.depth, recipe.n_layers, recipe.hidden)
        self.biases = recipe.layer_biases, recipe.output_bias
        layout = self.layout(recipe.batch_size)
        random = np.random.default_rng([seed, 0])
        self.parameters = Parameters.begin(draw_parameters(layout, start, random))
        self.steps, self.epochs = 0, 0

    def layout(self, batch_rows: int) -> Layout:
        """Places of parameters, and the cut of a step of so many rows."""
        return make_layout(
            self.n_features,
            self.n_outputs,
            self.leaf == "linear",
            self.hidden,
            self.start.left,
            self.start.right,
            self.start.depth,
            batch_rows,
            *self.biases,
        )

    def begin(
        self,
        train: Feed,
        recipe: Recipe,
        validation: Feed | None = None,
        epochs: int | None = None,
        callbacks: tuple[Callback, ...] = (),
        processes: Processes = ALONE,
        n_threads: int = 1,
    ) -> Run:
        """A run that has made no step yet."""
        return Run(self, train, recipe, validation, epochs, callbacks, processes, n_threads)

    def tree(self, average: bool = False) -> ObliqueTree:
        """The present tree, on standardised rows, or that of the averaged parameters."""
        layout = self.layout(1)
        P = self.parameters.average if average else self.parameters.values
        weights, bias = node_arrays(layout, P)
        values, slopes = leaf_arrays(layout, P)
        left, right = self.start.left, self.start.right
        return ObliqueTree(weights, bias, left, right, values, slopes)

    def state(self) -> tuple[Any, ...]:
        """A copy of all that training changes."""
        return self.parameters.copy(), self.steps, self.epochs

    def restore(self, state: tuple[Any, ...]) -> None:
        """Go back to a `state`."""
        parameters, self.steps, self.epochs = state
        self.parameters = parameters.copy()
