"""What DGTClassifier and DGTRegressor share: scikit-learn's manners, and nothing else.

Checks parameters and input, turns tables into arrays (`data.Encoder`), hands them to
`learn.Trainer`, and answers from the finished `ObliqueTree`. torch is imported when something is
fitted and never for prediction.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from dgtrees.data.encoder import Encoder, columns_of, is_frame
from dgtrees.data.rows import Examples, merge_repeated
from dgtrees.errors import StateError
from dgtrees.estimators.progress import (
    CallbackSupportMixin,
    EpochTasks,
    progress_bar,
    with_callbacks,
)
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.model import file as model_file
from dgtrees.tree.oblique import ObliqueTree

if TYPE_CHECKING:
    from dgtrees.learn.trainer import Trainer

__all__ = ["DGTEstimator"]

# Parameters that replace a field of the recipe when they are not None.
_RECIPE_OVERRIDES = {
    "n_layers": "n_layers",
    "hidden": "hidden",
    "loss": "loss",
    "max_epochs": "epochs",
    "batch_size": "batch_size",
    "learning_rate": "learning_rate",
    "l1": "l1",
    "l2": "l2",
    "patience": "patience",
}


class DGTEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators; subclasses say what a target is."""

    _task: str
    tree_: ObliqueTree

    # Subclasses' part

    def _read_target(self, y: Any, first: bool) -> np.ndarray:
        """Class numbers (rows,) or values (rows, outputs); learns about the target if `first`."""
        raise NotImplementedError

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights after the class weights, if there are any."""
        return weight

    @property
    def _n_classes(self) -> int:
        return 0

    # Fitting

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> DGTEstimator:
        """Train the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.
        X_val, y_val, sample_weight_val : optional
            Validation rows: the weights of the epoch that does best on them are kept.

        Returns
        -------
        self
        """
        recipe = self._checked_recipe()
        features, target, weight = self._read_rows(X, y, sample_weight, first=True)
        validation = None
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together, got only one of them")
        if X_val is not None:
            validation = self._examples(*self._read_rows(X_val, y_val, sample_weight_val))
        train = self._examples(features, target, weight)
        if len(train.X) == 0:
            raise ValueError("sample_weight must be above 0 for at least one row, got none")
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if validation is None and self.validation_fraction is not None:
            train, validation = _hold_out(train, self.validation_fraction, seed)
        self._check_memory(train.X.shape[1], recipe)
        trainer = self._trainer(train, recipe, seed)
        with progress_bar(bool(self.verbose), type(self).__name__) as bars:
            tasks = self._epoch_tasks(trainer, recipe.n_epochs(len(train.X)))
            result = trainer.fit(train, validation, callbacks=bars + tasks)
            for task in tasks:
                task.close()
        self._deliver(*trainer.finish(train))
        self.history_ = result.history
        self.best_score_ = result.best_score
        before = getattr(self, "n_iter_", 0) if self.warm_start else 0
        self.n_iter_ = before + result.n_epochs
        self._trainer_ = trainer
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> DGTEstimator:
        """One pass over a batch of rows, going on from what has been learnt so far."""
        trainer = getattr(self, "_trainer_", None)
        first = trainer is None
        if first and hasattr(self, "tree_"):
            raise StateError(
                "partial_fit cannot go on from a loaded model, which holds the finished tree only: "
                "keep the estimator that trained it, or start a new one"
            )
        recipe = replace(self._checked_recipe(), schedule="constant", averaging=0.0)
        rows = self._examples(*self._read_rows(X, y, sample_weight, first=first))
        if first:
            self._check_memory(rows.X.shape[1], recipe)
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            trainer = self._trainer(rows, recipe, seed)
            self.history_, self.n_iter_, self.best_score_ = {}, 0, None
        if len(rows.X):
            result = trainer.fit(rows, epochs=1)
            for name, values in result.history.items():
                self.history_.setdefault(name, []).extend(values)
        self.n_iter_ += 1
        self._deliver(trainer.hardened(), trainer.importance(rows))
        self._trainer_ = trainer
        return self

    def _trainer(self, train: Examples, recipe: Recipe, seed: int) -> Trainer:
        """A new trainer, or the one of the last fit when it is to be continued."""
        from dgtrees.learn.trainer import Trainer  # loads torch, which predicting never needs

        kept = getattr(self, "_trainer_", None)
        if kept is not None and self.warm_start:
            if kept.module.in_features != train.X.shape[1]:
                raise ValueError(
                    f"warm_start needs the {kept.module.in_features} encoded features of the last "
                    f"fit, got {train.X.shape[1]}: fit anew with warm_start=False"
                )
            kept.recipe = recipe
            return kept
        return Trainer(
            train,
            max_depth=self.max_depth,
            leaf=self.leaf,
            recipe=recipe,
            n_classes=self._n_classes,
            seed=seed,
        )

    def _deliver(self, tree: ObliqueTree, importance: np.ndarray) -> None:
        self.tree_ = tree
        features = np.zeros(self.n_features_in_)
        np.add.at(features, self._encoder.source, importance)
        self.feature_importances_ = features

    def _epoch_tasks(self, trainer: Trainer, n_epochs: int) -> tuple[EpochTasks, ...]:
        if not getattr(self, "_skl_callbacks", None):
            return ()
        return (EpochTasks(self, n_epochs, lambda: {"tree_": trainer.hardened()}),)

    # Input

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any, first: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encoded features, target and weights of the same length."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        table = self._read_table(X, first)
        rows = table if isinstance(table, np.ndarray) else table[0][1]
        target = self._read_target(y, first)
        check_consistent_length(rows, target)
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        weight = self._row_weights(target, weight)
        if first:
            encoder = Encoder()
            if isinstance(table, np.ndarray):
                names = getattr(self, "feature_names_in_", None)
                names = [f"x{j}" for j in range(table.shape[1])] if names is None else names
                self._encoder = encoder.fit_numbers(table, weight, names)
            else:
                self._encoder = encoder.fit(table, weight)
        return self._expand(table), target, weight

    def _read_table(self, X: Any, first: bool) -> np.ndarray | list[tuple[str, np.ndarray]]:
        """An array of floats, or columns where some are categories."""
        encoder = getattr(self, "_encoder", None)
        if first:
            categories = is_frame(X) and any(v.dtype == object for _, v in columns_of(X))
        else:
            categories = not encoder.numeric
        if not categories:
            return validate_data(
                self,
                X,
                reset=first,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                estimator=self,
            )
        if not is_frame(X):
            X = np.asarray(X, dtype=object)
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X")
        validate_data(self, X, reset=first, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError("X must have at least one row, got 0: check how it was read")
        return columns_of(X)

    def _expand(self, table: np.ndarray | list[tuple[str, np.ndarray]]) -> np.ndarray:
        if isinstance(table, np.ndarray):
            return self._encoder.expand_numbers(table)
        return self._encoder.expand(table)

    def _examples(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Examples:
        columns = y[:, None] if y.ndim == 1 else y
        X, columns, weight = merge_repeated(X, columns, weight)
        return Examples(X, columns[:, 0] if y.ndim == 1 else columns, weight)

    def _checked_recipe(self) -> Recipe:
        """The recipe with this estimator's own parameters in it, everything checked."""
        _check_integer("max_depth", self.max_depth, 0)
        if self.leaf not in ("constant", "linear"):
            raise ValueError(f"leaf must be 'constant' or 'linear', got {self.leaf!r}")
        fraction = self.validation_fraction
        if fraction is not None and not (isinstance(fraction, Real) and 0 < fraction < 1):
            raise ValueError(
                f"validation_fraction must be between 0 and 1 or None, got {fraction!r}"
            )
        for name in ("n_layers", "max_epochs", "batch_size", "patience"):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        if isinstance(self.recipe, Recipe):
            recipe = self.recipe
        elif isinstance(self.recipe, str) and self.recipe in RECIPES:
            recipe = RECIPES[self.recipe][self._task]
        else:
            raise ValueError(
                f"recipe must be one of {', '.join(RECIPES)} or a Recipe, got {self.recipe!r}"
            )
        changes = {
            field: getattr(self, name)
            for name, field in _RECIPE_OVERRIDES.items()
            if getattr(self, name, None) is not None
        }
        return replace(recipe, **changes) if changes else recipe

    def _check_memory(self, d: int, recipe: Recipe) -> None:
        """Refuse a depth whose arrays cannot fit, before anything is allocated."""
        outputs = self._n_classes or self._n_outputs
        hidden = 0 if recipe.n_layers == 1 else recipe.hidden
        last = d if recipe.n_layers == 1 else 2046 if isinstance(hidden, str) else np.max(hidden)
        leaf = outputs * (1 + (d if self.leaf == "linear" else 0))
        # Weight, gradient, two moments of the optimiser and the best copy, in float32; the folded
        # float64 copies; and the activations of a batch, forward and backward.
        floats = 2.0**self.max_depth * (5 * (last + leaf) + 4 * (d + leaf))
        floats += 2.0**self.max_depth * 6 * recipe.batch_size
        needed, free = 4.0 * floats, _free_memory()
        if free is not None and needed > free:
            raise ValueError(
                f"max_depth={self.max_depth} needs about {needed / 2**30:.1f} GiB for "
                f"{2**self.max_depth:,} leaves, but {free / 2**30:.1f} GiB are free: "
                "choose a smaller max_depth"
            )

    # Answers

    def _rows_to_predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "tree_")
        return self._expand(self._read_table(X, first=False))

    def _outputs(self, X: Any) -> np.ndarray:
        rows = self._rows_to_predict(X)
        return self.tree_.predict(rows)

    def apply(self, X: Any) -> np.ndarray:
        """Leaf that every row ends in, shape (rows,)."""
        rows = self._rows_to_predict(X)
        return self.tree_.apply(rows)

    def decision_path(self, X: Any) -> Any:
        """Sparse indicator of the nodes and leaves that every row passes."""
        rows = self._rows_to_predict(X)
        return self.tree_.decision_path(rows)

    def get_depth(self) -> int:
        """Most decisions a row can meet."""
        check_is_fitted(self, "tree_")
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    @property
    def encoded_feature_names_(self) -> list[str]:
        """Names of the columns that the tree's weights refer to, one-hot columns included."""
        check_is_fitted(self, "tree_")
        return self._encoder.feature_names

    # Files

    def save(self, path: Any) -> None:
        """Write the fitted model to one file, which `dgtrees.load` reads without torch."""
        check_is_fitted(self, "tree_")
        header = {
            "kind": type(self).__name__,
            "parameters": self._parameters_for_file(),
            "encoder": self._encoder.to_json(),
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist() or None,
            "n_features": int(self.n_features_in_),
            "history": self.history_,
            "n_iter": int(self.n_iter_),
            "best_score": self.best_score_,
            **self._target_for_file(),
        }
        arrays = {"feature_importances": np.asarray(self.feature_importances_)}
        model_file.write(path, header, arrays | model_file.tree_arrays(self.tree_))

    def _parameters_for_file(self) -> dict[str, Any]:
        """Constructor parameters as JSON values; a callable loss is named, not stored."""
        parameters = self.get_params(deep=False)
        recipe = parameters["recipe"]
        if not isinstance(recipe, str):
            parameters["recipe"] = {k: _plain(v) for k, v in asdict(recipe).items()}
        return {name: _plain(value) for name, value in parameters.items()}

    def _target_for_file(self) -> dict[str, Any]:
        return {}

    def _target_from_file(self, header: dict[str, Any]) -> None:
        """Restore what `_target_for_file` wrote."""

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> DGTEstimator:
        parameters = dict(header["parameters"])
        if isinstance(parameters["recipe"], dict):
            recipe = {k: tuple(v) if isinstance(v, list) else v for k, v in parameters["recipe"].items()}
            parameters["recipe"] = Recipe(**recipe)
        model = cls(**parameters)
        model.n_features_in_ = int(header["n_features"])
        if header["feature_names"]:
            model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        model._encoder = Encoder.from_json(header["encoder"])
        model.history_, model.n_iter_ = header["history"], header["n_iter"]
        model.best_score_ = header["best_score"]
        model._target_from_file(header)
        model.feature_importances_ = arrays["feature_importances"]
        model.tree_ = model_file.tree_from(arrays)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return None


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def _free_memory() -> float | None:
    """Bytes that can be had now, where the system tells."""
    try:
        with open("/proc/meminfo") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None


def _hold_out(examples: Examples, fraction: float, seed: int) -> tuple[Examples, Examples]:
    """Split off a random share of the distinct rows for validation."""
    rows = len(examples.X)
    held = int(np.ceil(fraction * rows))
    if held >= rows:
        raise ValueError(
            f"validation_fraction={fraction} leaves no training rows out of {rows} distinct ones: "
            "choose a smaller fraction or give more rows"
        )
    order = np.random.RandomState(seed).permutation(rows)

    def take(part: np.ndarray) -> Examples:
        part = np.sort(part)
        return type(examples)(examples.X[part], examples.y[part], examples.weight[part])

    return take(order[held:]), take(order[:held])
