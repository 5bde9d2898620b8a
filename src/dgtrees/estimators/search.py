"""Search: better settings by Optuna, judged on validation rows only.

Two spaces: around the default recipe, and the paper's own table of hyperparameters (L, one
penalty, momentum). Trials are kept in a journal file, from which a later run goes on; the model
file always holds the best tree so far.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import root_mean_squared_error

from dgtrees.errors import StateError
from dgtrees.estimators import parallel
from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.regressor import DGTRegressor
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.tables.fingerprint import fingerprint
from dgtrees.writing import check_target

__all__ = ["SPACES", "Best", "Search"]

SPACES = ("both", "default", "paper")
DEPTHS = (2, 4, 6, 8, 10)
_PENALTIES = (0.0, 1e-6, 5e-6, 1e-5, 5e-5)
_MOMENTA = {"classification": (0.0, 0.3, 0.8), "regression": (0.0, 0.3)}


@dataclass(frozen=True)
class Best:
    """The best trial: its number, validation score and parameters."""

    number: int
    score: float
    parameters: dict[str, Any]


class Search:
    """A resumable search for the setting with the best validation score.

    Parameters
    ----------
    task : {"classification", "regression"}
    model_path : path
        Where the best tree so far is saved.
    study : path
        Journal of all trials; an existing one is continued.
    space : {"both", "default", "paper"}
    max_depth, max_epochs : int, optional
        Fixed for all trials. Without `max_depth`, 2, 4, 6, 8 and 10 are tried.
    seed : int
        Seed of the trees, of the search and of the rows held out.
    """

    def __init__(
        self,
        task: str,
        model_path: str | os.PathLike[str],
        *,
        study: str | os.PathLike[str],
        space: str = "both",
        max_depth: int | None = None,
        max_epochs: int | None = None,
        seed: int = 0,
    ) -> None:
        if space not in SPACES:
            raise ValueError(f"space must be one of {', '.join(SPACES)}, got {space!r}")
        optuna = _optuna()
        self.task, self.model_path, self.study_path = task, Path(model_path), str(study)
        self.space, self.max_depth, self.max_epochs, self.seed = space, max_depth, max_epochs, seed
        self.metric = "accuracy" if task == "classification" else "rmse"
        check_target(study, StateError)
        self.study = self._opened(optuna, f"{task}/{space}/{max_depth}/{max_epochs}/{seed}")
        # A sampler seeded alike in every run would repeat the first run's trials.
        self.study.sampler = optuna.samplers.TPESampler(seed=seed + self.n_trials)
        if not self.n_trials:
            self.study.enqueue_trial(self._starting_point())

    def _opened(self, optuna: Any, name: str) -> Any:
        """The study of the journal file, which is made if it is not there."""
        try:
            backend = optuna.storages.journal.JournalFileBackend(self.study_path)
            storage = optuna.storages.JournalStorage(backend)
            known = [s.study_name for s in optuna.get_all_study_summaries(storage)]
            if not known or name in known:
                return optuna.create_study(
                    study_name=name,
                    storage=storage,
                    load_if_exists=True,
                    direction="maximize" if self.task == "classification" else "minimize",
                )
        except Exception as error:  # whatever reading a damaged journal may raise
            raise StateError(
                f"{self.study_path}: not a readable study file ({type(error).__name__}: {error}): "
                "delete it, or give another one"
            ) from error
        raise StateError(
            f"{self.study_path}: holds a search with other settings ({known[0]} as task/space/"
            f"max-depth/max-epochs/seed, now {name}): give another study file, or the same settings"
        )

    @property
    def n_trials(self) -> int:
        """Trials that are finished."""
        return sum(trial.state.is_finished() for trial in self.study.get_trials(deepcopy=False))

    def run(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        validation: tuple[Any, np.ndarray, np.ndarray | None] | None = None,
        validation_fraction: float = 0.2,
        trials: int = 50,
        n_jobs: int | None = None,
        callback: Callable[[], None] | None = None,
    ) -> Best:
        """Try `trials` more settings and return the best of all so far.

        `n_jobs` settings are tried at the same time, through the active joblib backend; a setting
        then learns from all before it but its neighbours.
        """
        if trials < 1:
            raise ValueError(f"trials must be at least 1, got {trials}")
        at_once = parallel.workers(n_jobs)
        parts = self._parts(X, y, weight, validation, validation_fraction)
        self._check_data(fingerprint(part for rows in parts for part in rows))
        for start in range(0, trials, at_once):
            asked = [self.study.ask() for _ in range(min(at_once, trials - start))]
            settings = [self._parameters(trial) for trial in asked]
            results = parallel.run(_tried, (self.task, parts), settings, n_jobs)
            for trial, result in zip(asked, results, strict=True):
                self._tell(trial, result)
                if callback is not None:
                    callback()
            if self._best_score() is None:
                # A setting that cannot be trained is one not to choose; but where none can,
                # something else is wrong.
                raise results[0]
        best = self.best()
        if _sha256(self.model_path) != self.study.user_attrs.get("model"):
            # An older run's best, whose file is gone or has been written over since.
            fixed = _optuna().trial.FixedTrial(self.study.best_trial.params)
            self._save(_fitted(self.task, parts, self._parameters(fixed)))
        return best

    def _tell(self, trial: Any, result: tuple[Any, float] | Exception) -> None:
        """Note a trial's result, and save its tree if it is the best so far."""
        best_before = self._best_score()
        if isinstance(result, Exception):
            trial.set_user_attr("error", str(result))
            self.study.tell(trial, state=_optuna().trial.TrialState.FAIL)
            return
        model, score = result
        self.study.tell(trial, score)
        if best_before is None or self._better(score, best_before):
            self._save(model)

    def _save(self, model: Any) -> None:
        model.save(self.model_path)
        self.study.set_user_attr("model", _sha256(self.model_path))

    def _check_data(self, found: str) -> None:
        known = self.study.user_attrs.get("data")
        if known is None:
            self.study.set_user_attr("data", found)
        elif known != found:
            raise StateError(
                f"{self.study_path}: holds a search on other rows or columns than these: give "
                "another study file, or delete it"
            )

    def best(self) -> Best:
        """The best trial so far."""
        if self._best_score() is None:
            raise StateError("no setting has been trained yet: run at least one trial")
        trial = self.study.best_trial
        return Best(trial.number, float(trial.value), dict(trial.params))

    def _best_score(self) -> float | None:
        try:
            return float(self.study.best_value)
        except ValueError:  # none finished yet
            return None

    def _better(self, score: float, than: float) -> bool:
        return score > than if self.task == "classification" else score < than

    def _starting_point(self) -> dict[str, Any]:
        """The default recipe itself (or the paper's) comes first."""
        start: dict[str, Any] = {}
        if self.space == "both":
            start["recipe"] = "default"
        if self.max_depth is None:
            start["max_depth"] = 8 if self.task == "classification" else 6
        if self.space != "paper":
            recipe = RECIPES["default"][self.task]
            names = ("learning_rate", "leaf_learning_rate", "softmax_scale", "input_noise")
            start |= {name: getattr(recipe, name) for name in names}
        return start

    def _parameters(self, trial: Any) -> dict[str, Any]:
        """Estimator parameters that a trial suggests."""
        space = self.space
        if space == "both":
            space = trial.suggest_categorical("recipe", ("default", "paper"))
        depth = self.max_depth
        if depth is None:
            depth = trial.suggest_categorical("max_depth", DEPTHS)
        recipe = RECIPES[space][self.task]
        changed = self._around_default if space == "default" else self._as_in_the_paper
        return {
            "max_depth": depth,
            "recipe": replace(changed(recipe, trial), tries=1),
            "max_epochs": self.max_epochs,
            "random_state": self.seed,
        }

    def _around_default(self, recipe: Recipe, trial: Any) -> Recipe:
        changes = {
            "learning_rate": trial.suggest_float("learning_rate", 5e-4, 2e-2, log=True),
            "leaf_learning_rate": trial.suggest_float("leaf_learning_rate", 5e-3, 0.3, log=True),
            "softmax_scale": trial.suggest_float("softmax_scale", 0.2, 1.2),
            "input_noise": trial.suggest_float("input_noise", 0.0, 0.4),
        }
        return replace(recipe, **changes)

    def _as_in_the_paper(self, recipe: Recipe, trial: Any) -> Recipe:
        layers = trial.suggest_categorical("n_layers", (1, 3))
        changes: dict[str, Any] = {
            "n_layers": layers,
            "momentum": trial.suggest_categorical("momentum", _MOMENTA[self.task]),
        }
        if layers > 1:  # one penalty or the other, never both
            penalty = trial.suggest_categorical("penalty", ("l1", "l2"))
            changes[penalty] = trial.suggest_categorical("strength", _PENALTIES)
        return replace(recipe, **changes)

    def _parts(
        self, X: Any, y: np.ndarray, weight: Any, validation: Any, fraction: float
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        if validation is not None:
            return (X, y, weight), validation
        if not 0 < fraction < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {fraction}")
        order = np.random.RandomState(self.seed).permutation(len(y))
        held, train = np.split(order, [max(1, round(fraction * len(y)))])
        if self.task == "classification":  # every class must be among the rows to learn from
            only_held = ~np.isin(y[held], y[train])
            held, train = held[~only_held], np.append(train, held[only_held])
        if not len(held) or not len(train):
            raise ValueError(
                f"validation_fraction={fraction} leaves {len(train)} rows to learn from and "
                f"{len(held)} to judge by: give more rows, or a validation table"
            )

        def take(part: np.ndarray) -> tuple[Any, ...]:
            rows_of = X.take(part) if hasattr(X, "column_names") else X[part]
            return rows_of, y[part], None if weight is None else weight[part]

        return take(train), take(held)


def _fitted(task: str, parts: Any, parameters: dict[str, Any]) -> Any:
    (X, y, weight), (X_val, y_val, weight_val) = parts
    kind = DGTClassifier if task == "classification" else DGTRegressor
    return kind(**parameters).fit(
        X, y, weight, X_val=X_val, y_val=y_val, sample_weight_val=weight_val
    )


def _tried(task: str, parts: Any, parameters: dict[str, Any]) -> tuple[Any, float] | Exception:
    """A model and its validation score, or why there is none."""
    try:
        model = _fitted(task, parts, parameters)
    except (ValueError, FloatingPointError, StateError) as error:  # a StateError if it diverges
        return error
    del model._trainer_  # only the finished tree goes back to whoever asked
    X, y, weight = parts[1]
    if task == "classification":
        return model, float(model.score(X, y, sample_weight=weight))
    return model, float(root_mean_squared_error(y, model.predict(X), sample_weight=weight))


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError("tuning needs optuna: pip install 'dgtrees[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
