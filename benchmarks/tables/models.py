"""The contestants: how each is made for a task and a seed, and what its records say it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dgtrees
from dgtrees.estimators.parameters import checked_recipe

REFERENCE = "dgt"
"""The model that the report compares with all others."""

YARDSTICK = "forest"
"""The model whose CPU seconds are the unit of all others'."""


@dataclass(frozen=True)
class Contestant:
    """A model, and how it reads in tables.

    Parameters
    ----------
    make : callable(task, seed)
        An unfitted estimator. Ours take tables as they are, all others numbers.
    about : str
        What is fitted, in a few words.
    package : str
        Whose version a record states.
    """

    title: str
    make: Callable[[str, int], Any]
    about: str
    package: str = "scikit-learn"

    @property
    def ours(self) -> bool:
        """Whether it is a model of this library."""
        return self.package == "dgtrees"

    def version(self) -> str:
        """Of its package."""
        return dgtrees.__version__ if self.ours else version(self.package)

    def recipe(self, task: str) -> str:
        """Eight hexadecimal digits of the defaults that ours is trained with, "" for others.

        They change when a recipe or a default parameter does, so that records tell old from new.
        """
        if not self.ours:
            return ""
        model = self.make(task, 0)
        given = model.get_params(deep=False)
        given = {name: given[name] for name in sorted(given) if name != "random_state"}
        name = "classification" if task == "clf" else "regression"
        recipe = checked_recipe(model, name) if "recipe" in given else None
        # A setting that is younger than the records, and off, changes nothing.
        if given.get("max_columns", 0) is None:
            del given["max_columns"]
        said = repr((recipe, given)).replace(", max_columns=None", "")
        return sha256(said.encode()).hexdigest()[:8]


def _pick(classifier: Any, regressor: Any, **given: Any) -> Callable[[str, int], Any]:
    """One of two classes by task, with the seed and the parameters given."""
    return lambda task, seed: (classifier if task == "clf" else regressor)(
        random_state=seed, **given
    )


def _cart(task: str, seed: int) -> GridSearchCV:
    tree = _pick(DecisionTreeClassifier, DecisionTreeRegressor)(task, seed)
    sizes = [4, 8, 16, 32, 64, 128, 256, None]
    grid = {"max_leaf_nodes": sizes, "min_samples_leaf": [1, 5, 20]}
    return GridSearchCV(tree, grid, cv=KFold(5, shuffle=True, random_state=seed))


def _linear(task: str, seed: int) -> Any:
    if task == "clf":
        return make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=6, cv=4, max_iter=300))
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))


def _catboost(task: str, seed: int) -> Any:
    import catboost  # by hand: 100 MB that nothing else needs

    kind = catboost.CatBoostClassifier if task == "clf" else catboost.CatBoostRegressor
    return kind(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)


CONTESTANTS = {
    "dgt": Contestant(
        "DGT",
        _pick(dgtrees.DGTClassifier, dgtrees.DGTRegressor),
        "one oblique tree of this library, defaults",
        "dgtrees",
    ),
    "dgt-linear": Contestant(
        "DGT, linear leaves",
        _pick(dgtrees.DGTClassifier, dgtrees.DGTRegressor, leaf="linear"),
        'the same with leaf="linear"',
        "dgtrees",
    ),
    "dgt-forest": Contestant(
        "DGT-Forest",
        _pick(dgtrees.DGTForestClassifier, dgtrees.DGTForestRegressor, n_jobs=1),
        "a forest of this library, defaults",
        "dgtrees",
    ),
    "dgt-boosting": Contestant(
        "DGT-Boosting",
        _pick(dgtrees.DGTBoostingClassifier, dgtrees.DGTBoostingRegressor, n_jobs=1),
        "a boosted sum of small trees of this library, defaults",
        "dgtrees",
    ),
    "cart": Contestant(
        "CART",
        _cart,
        "one tree; leaves and rows a leaf by grid search of 24, five folds",
    ),
    "linear": Contestant(
        "Linear",
        _linear,
        "logistic or ridge regression on scaled columns; penalty by cross-validation",
    ),
    "forest": Contestant(
        "Random forest",
        _pick(RandomForestClassifier, RandomForestRegressor, n_estimators=300),
        "300 trees, otherwise defaults",
    ),
    "xgboost": Contestant(
        "XGBoost",
        _pick(xgboost.XGBClassifier, xgboost.XGBRegressor, n_jobs=1),
        "defaults",
        "xgboost-cpu",
    ),
    "lightgbm": Contestant(
        "LightGBM",
        _pick(lightgbm.LGBMClassifier, lightgbm.LGBMRegressor, n_jobs=1, verbose=-1),
        "defaults",
        "lightgbm",
    ),
    "catboost": Contestant(
        "CatBoost",
        _catboost,
        "defaults; not installed with this library: pip install catboost",
        "catboost",
    ),
    "histogram": Contestant(
        "HistGB",
        _pick(HistGradientBoostingClassifier, HistGradientBoostingRegressor),
        "HistGradientBoosting, defaults",
    ),
}
