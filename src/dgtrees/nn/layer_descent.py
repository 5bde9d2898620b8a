"""LayerDescent: a tree trained by torch, for what trains trees otherwise by compiled code."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import torch

from dgtrees.learn.recipe import Recipe
from dgtrees.learn.result import Callback, TrainingResult
from dgtrees.learn.rows import Rows
from dgtrees.nn.loop import fit_tree, make_layer, make_optimizer
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.torch_threads import one_torch_thread
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["LayerDescent", "LayerRun"]


class LayerDescent:
    """Trains one tree on standardised rows, and goes on from where it was.

    Parameters
    ----------
    n_features, n_outputs : int
    max_depth : int
    leaf : "constant" or "linear"
    recipe : Recipe
    seed : int
        Decides the first weights, the order of rows and their noise.
    classification : bool
        Whether targets are class numbers.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        max_depth: int,
        leaf: str,
        recipe: Recipe,
        seed: int,
        classification: bool,
    ) -> None:
        self.n_features, self.n_outputs = n_features, n_outputs
        self.max_depth, self.leaf = max_depth, leaf
        self.recipe, self.classification = recipe, classification
        self.generator = torch.Generator().manual_seed(seed)
        self.layer = make_layer(n_features, n_outputs, max_depth, leaf, recipe, self.generator)
        self.optimizer = make_optimizer(self.layer, recipe)

    def begin(
        self,
        train: Rows,
        recipe: Recipe,
        validation: Rows | None = None,
        epochs: int | None = None,
        callbacks: tuple[Callback, ...] = (),
        processes: Any = None,
        n_threads: int = 1,
    ) -> LayerRun:
        """A run that has made no step yet; always of one process and one thread."""
        return LayerRun(self, train, recipe, validation, epochs, callbacks)

    def fit(
        self,
        train: Rows,
        validation: Rows | None = None,
        epochs: int | None = None,
        callbacks: tuple[Callback, ...] = (),
    ) -> TrainingResult:
        """Train on, from the present weights, and keep the best."""
        run = self.begin(train, self.recipe, validation, epochs, callbacks)
        return run.advance().finish()

    def tree(self) -> ObliqueTree:
        """The present tree, complete, on standardised inputs and outputs."""
        with one_torch_thread():
            return self.layer.to_tree()

    def state(self) -> Any:
        """All that a fit changes, to undo one that fails."""
        states = self.layer.state_dict(), self.optimizer.state_dict(), self.generator.get_state()
        return copy.deepcopy(states)

    def restore(self, state: Any) -> None:
        """Go back to what `state` gave."""
        # A copy again: the optimiser keeps the tensors it is given, and changes them.
        layer, optimizer, generator = copy.deepcopy(state)
        self.layer.load_state_dict(layer)
        self.optimizer.load_state_dict(optimizer)
        self.generator.set_state(generator)


@dataclass
class LayerRun:
    """One training by torch, which is not interrupted: the first `advance` makes all epochs."""

    descent: LayerDescent
    train: Rows
    recipe: Recipe
    validation: Rows | None
    epochs: int | None
    callbacks: tuple[Callback, ...]
    result: TrainingResult = field(default_factory=TrainingResult)

    def advance(self, until: int | None = None, n_threads: int | None = None) -> LayerRun:
        """Train to the end, and keep the best weights."""
        if self.result.n_epochs == 0:
            layer, validation = self.descent, self.validation
            self.result = fit_tree(
                layer.layer,
                TensorRows.of(self.train),
                self.recipe,
                classification=layer.classification,
                optimizer=layer.optimizer,
                generator=layer.generator,
                validation=None if validation is None else TensorRows.of(validation),
                epochs=self.epochs,
                callbacks=self.callbacks,
            )
        return self

    def finish(self) -> TrainingResult:
        """What was done."""
        return self.result
