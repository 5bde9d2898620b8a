"""What DGTClassifier and DGTRegressor share: training by gradient descent.

Checks parameters, hands rows to `learn.Trainer`, and delivers the finished `Model`; reading rows is
`tables`' part, answering `delegation`'s, targets are `target_types`'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from dgtrees.errors import StateError
from dgtrees.estimators.callbacks import EpochTasks, progress_bar, tell
from dgtrees.estimators.constructors import TreeParameters
from dgtrees.estimators.log_copies import add_log_copies
from dgtrees.estimators.parameters import (
    RECIPE_OVERRIDES,
    check_size,
    checked_recipe,
)
from dgtrees.estimators.single_tree import SingleTree
from dgtrees.learn.auto import fit_automatically
from dgtrees.learn.recipe import TORCH_QUANTIZERS, Recipe
from dgtrees.learn.result import TrainingResult
from dgtrees.learn.trainer import Trainer
from dgtrees.learn.tries import best_of_tries, few_weights
from dgtrees.model.model import Model
from dgtrees.tables.examples import Examples

__all__ = ["DGTEstimator", "reach"]


class DGTEstimator(TreeParameters, SingleTree):
    """Base of the estimators; subclasses say what a target is."""

    _task: str
    _default_height: int
    shards_report_: dict[str, Any]
    """What `fit_shards` did: rows, workers, restarts, and the validation score."""

    def _training_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights to train with, after class weights if there are any."""
        factors = self._row_factors(y, weight)
        return weight if factors is None else weight * factors

    def _check_patience(self, recipe: Recipe, validated: bool) -> None:
        """Refuse to wait for a better validation score where there is nothing to validate with."""
        if recipe.patience is not None and not validated and not self._held_out_share(10**9):
            raise ValueError(
                f"patience={recipe.patience} needs validation rows, got none: give X_val and y_val "
                "or set validation_fraction"
            )

    # Fitting

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> None:
        recipe = checked_recipe(self, self._task)
        self._check_patience(recipe, X_val is not None)
        kept = self._encoder if self.warm_start and hasattr(self, "_trainer_") else None
        train, validation, seed = self._training_rows(
            X, y, sample_weight, X_val, y_val, sample_weight_val
        )
        if not self._chooses:
            told = add_log_copies(self._encoder, recipe, train, validation, kept)
            self._encoder, train, validation = told
        rows_by_weight = train.weight
        train = replace(train, weight=self._training_weights(train.y, train.weight))
        if not train.weight.any():
            raise ValueError(
                "class_weight must be above 0 for a class that has training rows, got none: "
                "give one of them a weight"
            )
        self.__dict__.pop("chosen_", None)
        if self._chooses:
            self._fit_automatically(train, validation, rows_by_weight, seed)
            return
        trainer, result = self._best_of_tries(train, validation, recipe, seed)
        tree, importance = trainer.finish(train, validation)
        leaf_rows = tree.visits(train.X, rows_by_weight)[1]
        best, history = result.best_score, result.history
        self._deliver(tree, importance, trainer.scale, leaf_rows, history, trainer.epochs, best)
        self._trainer_ = trainer

    @property
    def _chooses(self) -> bool:
        """Whether what the tree is, is chosen on held-out rows.

        Whoever says how to train means a tree that is trained so, of the default height.
        """
        told = [*RECIPE_OVERRIDES, "refine"]
        return (
            self.max_depth == "auto"
            and self.recipe == "default"
            and not self.warm_start
            and all(getattr(self, name, None) is None for name in told)
        )

    @property
    def _height(self) -> int:
        """Height of a complete tree."""
        if self.max_depth != "auto":
            return int(self.max_depth)
        most = 2**self._default_height if self.max_leaves is None else int(self.max_leaves)
        return min(self._default_height, most.bit_length() - 1)

    @property
    def _leaf(self) -> str:
        """What leaves of a complete tree hold."""
        return "constant" if self.leaf == "auto" else self.leaf

    def _fit_automatically(
        self, train: Examples, validation: Examples | None, rows: np.ndarray, seed: int
    ) -> None:
        """Choose a plan on held-out rows, train it on all, and deliver its tree."""
        made = fit_automatically(
            train,
            validation,
            self._n_classes,
            leaf=self.leaf,
            max_leaves=self.max_leaves,
            seed=seed,
            n_threads=effective_n_jobs(self.n_jobs),
            repeats=rows,
            medians=self._encoder.medians,
        )
        leaf_rows = made.tree.visits(made.tails.bend(train.X), rows)[1]
        self._encoder = self._encoder.bending(made.tails.center, made.tails.spread)
        if made.tree.mixes:
            self._encoder = self._encoder.reaching(*reach(train.X))
        epochs = made.choice.plan.epochs
        self._deliver(made.tree, made.importance, made.scale, leaf_rows, {}, epochs, None)
        self.chosen_ = made.choice
        self.__dict__.pop("_trainer_", None)
        if self.verbose:
            tell(str(made.choice))

    def _best_of_tries(
        self, train: Examples, validation: Examples | None, recipe: Recipe, seed: int
    ) -> tuple[Trainer, TrainingResult]:
        """Train as often as the recipe says and return the trainer that validated best."""
        going_on = self.warm_start and hasattr(self, "_trainer_")
        rows, columns = train.X.shape
        values = self._outputs_per_leaf * (columns + 1 if self._leaf == "linear" else 1)
        comparable = validation is not None or few_weights(rows, columns, self._height, values)
        tries = recipe.n_tries(rows) if comparable and not going_on else 1
        recipes = [recipe.for_try(number) for number in range(tries)]
        if going_on:
            recipes = [recipe.going_on(self._trainer_.recipe)]
        trainers = [self._trainer(train, r, seed + i) for i, r in enumerate(recipes)]
        n_epochs = recipe.n_epochs(rows)
        total = n_epochs + (tries - 1) * (n_epochs // 2)
        with (
            progress_bar(bool(self.verbose), type(self).__name__) as bars,
            trainers[0].unchanged_on_error(),
        ):
            tasks = self._epoch_tasks(trainers[0].harden, total)
            try:
                threads = effective_n_jobs(self.n_jobs)
                return best_of_tries(trainers, train, validation, bars + tasks, threads)
            finally:
                for task in tasks:
                    task.close()

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """One pass over a batch of rows, going on from what has been learnt so far."""
        trainer: Any = getattr(self, "_trainer_", None)
        first = trainer is None
        # A chosen tree is finished: training begins with this batch, as if nothing were fitted.
        if first and hasattr(self, "tree_") and not hasattr(self, "chosen_"):
            raise StateError(
                "partial_fit cannot go on from a model that was loaded or fitted by fit_shards, "
                "which holds the finished tree only: start a new estimator, or keep the one that "
                "fit or partial_fit has trained"
            )
        # No cosine, no average, no local gradients: nobody knows which batch will be the last.
        recipe = checked_recipe(self, self._task)
        if recipe.max_columns is not None:
            raise ValueError(
                f"max_columns={recipe.max_columns} needs all rows at once, which partial_fit never "
                "sees: leave it out, or use fit"
            )
        recipe = replace(recipe, schedule="constant", averaging=0.0, local_after=1.0)
        rows = self._examples(X, y, sample_weight, first=first)
        rows = replace(rows, weight=self._training_weights(rows.y, rows.weight))
        self.__dict__.pop("chosen_", None)
        if first:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            trainer = self._trainer(rows, recipe, seed)
        else:
            recipe = recipe.going_on(trainer.recipe)
            self._check_kept(trainer, rows, recipe)
            trainer.recipe = recipe
        result = trainer.fit(rows, epochs=1)
        before = {} if first else self.history_
        history = {name: before.get(name, []) + new for name, new in result.history.items()}
        best = None if first else self.best_score_
        tree, importance = trainer.harden(), trainer.running_importance(rows)
        # Nobody knows how many rows came to a leaf: earlier batches are gone.
        self._deliver(tree, importance, trainer.scale, None, history, trainer.epochs, best)
        self._trainer_ = trainer

    def _trainer(self, train: Examples, recipe: Recipe, seed: int) -> Trainer:
        """A new trainer, or the one of the last fit when it is to be continued."""
        kept = getattr(self, "_trainer_", None)
        if kept is not None and self.warm_start:
            self._check_kept(kept, train, recipe)
            kept.recipe = recipe
            return kept
        check_size(self._height, self._leaf, train.X.shape[1], self._outputs_per_leaf)
        engine = None
        if recipe.quantizer in TORCH_QUANTIZERS:
            from dgtrees.nn.layer_descent import LayerDescent  # the only fit that needs torch

            engine = LayerDescent
        trainer = Trainer(
            train,
            max_depth=self._height,
            leaf=self._leaf,
            recipe=recipe,
            n_classes=self._n_classes,
            seed=seed,
            engine=engine,
        )
        trainer.classes = self._class_list()
        return trainer

    def _check_kept(self, kept: Trainer, rows: Examples, recipe: Recipe) -> None:
        """Refuse to go on training where the tree itself would have to be another."""
        descent = kept.descent
        shape = ("n_layers", "hidden", "quantizer", "path", "softmax_scale", "optimizer")
        sides = {
            "max_depth": (kept.max_depth, self._height),
            "leaf": (descent.leaf, self._leaf),
            "encoded features": (descent.n_features, rows.X.shape[1]),
            "outputs": (descent.n_outputs, self._outputs_per_leaf),
            "classes": (kept.classes, self._class_list()),
            **{name: (getattr(kept.recipe, name), getattr(recipe, name)) for name in shape},
        }
        for name, (before, now) in sides.items():
            if before != now:
                raise ValueError(
                    f"training can only go on with the same {name}, {before!r} so far, got "
                    f"{now!r}: start a new estimator, or fit with warm_start=False"
                )

    def _class_list(self) -> list | None:
        return None

    def _epoch_tasks(self, tree: Callable, n_epochs: int) -> tuple[EpochTasks, ...]:
        if not getattr(self, "_skl_callbacks", None):
            return ()

        def so_far() -> dict[str, Model]:
            return {"model_": self._finished((self._without_weights(tree()),))}

        return (EpochTasks(self, n_epochs, so_far),)


def reach(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As far as training can speak of: its range, and once more its width on both sides.

    Where columns are added up, one value that is far off would decide alone.
    """
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    with np.errstate(over="ignore"):
        width = high - low
        return np.nan_to_num(low - width), np.nan_to_num(high + width)
