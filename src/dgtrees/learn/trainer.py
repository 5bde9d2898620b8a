"""Trainer: arrays in, `ObliqueTree` out.

Owns what lies between a table of numbers and `Descent`: standardisation, starts, and the way back
from a trained tree to one on unscaled inputs and outputs. Estimators keep one to go on training
(warm start, partial fit).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dgtrees.learn import polish, refine
from dgtrees.learn.best_tree import Best
from dgtrees.learn.descent import Descent
from dgtrees.learn.hinges import MOST_COLUMNS, hinge_start
from dgtrees.learn.processes import ALONE, Processes
from dgtrees.learn.recipe import POLISH_PASSES, Recipe
from dgtrees.learn.recipe_checks import CLOSED_FORM
from dgtrees.learn.result import Callback, TrainingResult
from dgtrees.learn.rows import Feed, Rows
from dgtrees.learn.run import Run
from dgtrees.learn.standard import Standard
from dgtrees.learn.starts import Start, pair_start, random_start
from dgtrees.learn.threads import one_thread
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Trainer"]

_NO_WEIGHT = 1e-3
"""Weight, in mean rows, below which the rows of a leaf do not count."""

_Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Standardised rows, targets and weights."""


class Trainer:
    """Trains one tree; see the module docstring.

    Parameters
    ----------
    first : Examples
        Rows to learn the standardisation from.
    n_classes : int
        0 for regression.
    processes : Processes
        Those that train this tree together, each with rows of its own.
    engine : callable, optional
        What trains instead of `Descent`, as `nn.LayerDescent` does.
    """

    def __init__(
        self,
        first: Examples,
        *,
        max_depth: int,
        leaf: str,
        recipe: Recipe,
        n_classes: int,
        seed: int,
        processes: Processes = ALONE,
        engine: Callable[..., Any] | None = None,
    ) -> None:
        self.recipe, self.n_classes, self.seed = recipe, n_classes, seed
        self.processes = processes
        self.standard = Standard(first, n_classes, recipe.scaling, processes, recipe.target_scaling)
        outputs = self.standard.outputs
        width = first.X.shape[1]
        self.max_depth = max_depth
        self.descent: Any
        if engine is None:
            with one_thread():
                start = self._start(first, outputs, leaf)
            self.descent = Descent(start, width, leaf, recipe, n_classes > 0, seed)
        else:
            self.descent = engine(width, outputs, max_depth, leaf, recipe, seed, n_classes > 0)
        self.epochs = 0
        self.classes: list | None = None  # the labels behind class numbers, for whoever goes on
        self._importance = np.zeros(width)

    def _start(self, first: Examples, outputs: int, leaf: str) -> Start:
        random = np.random.default_rng([self.seed, 1])
        recipe, alone = self.recipe, self.processes is ALONE
        # Processes that train together begin alike, and none of them has all rows.
        bends = leaf == "linear" and not self.n_classes and first.X.shape[1] <= MOST_COLUMNS
        if alone and bends and recipe.start == "hinge" and recipe.start_depth is not None:
            height = min(self.max_depth, recipe.start_depth)
            return hinge_start(*self._prepare(first), height, random)
        if recipe.start != "pair" or not alone:
            uniform = self.recipe.start == "uniform"
            return random_start(self.max_depth, outputs, random, uniform)
        X, target, weight = self._prepare(first)
        return pair_start(X, target, weight, self.max_depth, self.n_classes > 0, random)

    def begin(
        self,
        train: Examples,
        validation: Examples | None = None,
        epochs: int | None = None,
        callbacks: tuple[Callback, ...] = (),
        n_threads: int = 1,
    ) -> Run:
        """A run that goes on from the present weights; end it with `end`."""
        # A column may begin to vary in a later batch.
        standard, processes = self.standard, self.processes
        varies = np.zeros(len(standard.center))
        for differs in processes.parts(train, lambda rows: (standard.center != rows.X).any(axis=0)):
            varies = np.maximum(varies, differs)
        standard.constant = standard.constant & (processes.max(varies) == 0)
        return self.descent.begin(
            self._feed(train),
            self.recipe,
            None if validation is None else self._feed(validation),
            epochs,
            callbacks,
            self.processes,
            n_threads,
        )

    def end(self, run: Run) -> TrainingResult:
        """Keep what a run has found best."""
        result = run.finish()
        self.epochs += result.n_epochs
        return result

    def fit(
        self,
        train: Examples,
        validation: Examples | None = None,
        epochs: int | None = None,
        callbacks: tuple[Callback, ...] = (),
        n_threads: int = 1,
    ) -> TrainingResult:
        """Train on, from the present weights, and keep the best; unchanged if it fails."""
        with self.unchanged_on_error():
            run = self.begin(train, validation, epochs, callbacks, n_threads)
            return self.end(run.advance())

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Undo what a block has trained if it raises: training goes on in place."""
        before = self.descent.state(), self.standard.constant
        try:
            yield
        except BaseException:
            self.descent.restore(before[0])
            self.standard.constant = before[1]
            raise

    def harden(self) -> ObliqueTree:
        """The present tree, complete, on unscaled inputs and outputs."""
        return self.standard.unscale(self._tree())

    def finish(
        self, train: Examples, validation: Examples | None = None
    ) -> tuple[ObliqueTree, np.ndarray]:
        """The tree to deliver, pruned and refitted, and the importance of every input (d,)."""
        with one_thread():
            parts = self.processes.parts(train, self._prepare)
            tree = self._prune(self._tree(), parts, *self._size(train))
            # The closed form is that of squared error and cross-entropy, and of no other loss.
            closed_form = self.recipe.loss in CLOSED_FORM
            if self.recipe.refit_strength is not None and closed_form:
                tree = self._refit(tree, parts, self.recipe.refit_strength).prune()
            if (self.recipe.polish or self.recipe.max_columns) and closed_form:
                ((X, target, weight),) = parts
                tree = self._polish(tree, X, target, weight, validation)
            sums = self._leaf_sums(tree, parts)
            importance = refine.normalize(refine.gains_of_inputs(tree, sums))
            return self.standard.unscale(tree), importance

    def _refit(self, tree: ObliqueTree, parts: Iterable[_Part], strength: float) -> ObliqueTree:
        classes = self.n_classes > 0
        if tree.leaf_weights is None:
            sums = self._leaf_sums(tree, parts)
            return refine.refit_from_sums(tree, sums, strength, classes)
        ((X, target, weight),) = parts
        return refine.refit_leaves(tree, X, target, weight, strength, classes)

    def _leaf_sums(self, tree: ObliqueTree, parts: Iterable[_Part]) -> np.ndarray:
        total = np.zeros((tree.n_leaves, tree.n_outputs + 2))
        for X, target, weight in parts:
            total = total + refine.leaf_sums(tree, tree.apply(X), target, weight)
        return self.processes.sum(total)

    def _polish(
        self,
        tree: ObliqueTree,
        X: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        validation: Examples | None,
    ) -> ObliqueTree:
        """The tree after alternating passes, or as it is where validation rows would lose."""
        loss, most = "zero_one" if self.n_classes else "squared", self.recipe.max_columns
        settings = polish.Polish(loss, max_columns=most)
        score = None
        if validation is not None:
            rows = (
                self.standard.inputs(validation.X),
                self.standard.targets(validation),
                validation.weight,
            )
            score = lambda t: -polish.training_loss(t, *rows, settings.loss)  # noqa: E731
        best = Best(score, tree if most is None else None)
        passes = self.recipe.polish or POLISH_PASSES
        polish.polish(tree, X, target, weight, settings, passes, best)
        return best.tree

    def running_importance(self, rows: Examples) -> np.ndarray:
        """Importance of every input by the present splits, over all batches given so far."""
        tree = self._tree()
        self._importance = self._importance + refine.input_gains(
            tree, self.standard.inputs(rows.X), self.standard.targets(rows), rows.weight
        )
        return refine.normalize(self._importance)

    @property
    def scale(self) -> np.ndarray:
        """What every feature is divided by."""
        return self.standard.scale

    def _tree(self) -> ObliqueTree:
        with one_thread():
            return self.standard.without_constants(self.descent.tree())

    def _prune(
        self, tree: ObliqueTree, parts: Iterable[_Part], n_rows: int, mean_weight: float
    ) -> ObliqueTree:
        """Drop leaves that training never reached, or only rows of next to no weight.

        With input noise, leaves that no clean row reaches have been trained all the same and
        predict better for new rows than their neighbours: those stay.
        """
        visits = np.zeros(tree.n_leaves)
        # Noise of its own for every process, and the same in every run.
        random = np.random.default_rng(self.processes.rank)
        noise = self.recipe.noise(n_rows, tree.n_features), self.recipe.relative_noise
        for X, _, weight in parts:
            visits += refine.noisy_visits(tree, X, weight / mean_weight, *noise, random)
        visits = self.processes.sum(visits)
        return tree.keep_leaves(visits > min(_NO_WEIGHT, visits.max() / 2.0))

    def _prepare(self, examples: Examples) -> _Part:
        """Rows as what follows training takes them: standardised, with targets and weights."""
        return self.standard.inputs(examples.X), self.standard.targets(examples), examples.weight

    def _size(self, examples: Examples) -> tuple[int, float]:
        """Number and mean weight of the rows of all processes."""
        total = np.array([examples.weight.sum(), len(examples.weight)])
        weight, rows = self.processes.sum(total)
        return int(rows), weight / rows

    def _feed(self, examples: Examples) -> Feed:
        _, mean = self._size(examples)
        return self.processes.feed(examples, lambda rows: self._rows(rows, mean))

    def _rows(self, examples: Examples, mean_weight: float) -> Rows:
        X = self.standard.inputs(examples.X)
        if self.n_classes:
            y = np.asarray(examples.y, dtype=np.int64)
        else:
            y = self.standard.targets(examples).astype(np.float32)
        return Rows(X, y, (examples.weight / mean_weight).astype(np.float32))
