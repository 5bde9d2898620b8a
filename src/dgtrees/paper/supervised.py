"""Methods that learn from labels: how each is made from its settings, fitted and scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees import (
    DGTBoostingClassifier,
    DGTBoostingRegressor,
    DGTClassifier,
    DGTForestClassifier,
    DGTForestRegressor,
    DGTRegressor,
)
from dgtrees.learn.recipe import Recipe
from dgtrees.paper.baselines import (
    LCNClassifier,
    LCNRegressor,
    PATClassifier,
    PATRegressor,
    TAOClassifier,
    TAORegressor,
    TELClassifier,
    TELRegressor,
)
from dgtrees.paper.catalog import Split
from dgtrees.paper.cells import find_preset


@dataclass(frozen=True)
class Kind:
    """Estimators of the two tasks by one maker, and settings that make it quick."""

    make: Callable[..., Any]
    regressor: Any
    classifier: Any = None
    quick: dict[str, Any] | None = None
    validates: bool = False
    """Whether its fit takes validation rows, to choose an epoch or a pass by."""


def _make_tree(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    """Our estimators: settings that are no parameters of theirs change the recipe."""
    known = signature(kind).parameters
    own = {name: value for name, value in settings.items() if name in known}
    changes = {name: value for name, value in settings.items() if name not in known}
    recipe = find_preset(task, own)
    own.pop("recipe", None)
    unknown = set(changes) - {field.name for field in fields(Recipe)}
    if unknown:
        raise ValueError(f"settings must be known to the recipe, got {', '.join(sorted(unknown))}")
    options = {"max_depth": height, "random_state": seed} | own
    return kind(recipe=replace(recipe, **changes), **options)


def _make_plain(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    options = {"max_depth": height, "random_state": seed} | settings
    return kind(**options)


def _make_grown(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    # Forests that choose what their trees are: there is no height.
    return kind(random_state=seed, n_jobs=1, **settings)


def _make_cart(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    # The trees of a library that is not ours: 0 stands for no limit, which TOML cannot say.
    options = {"max_depth": height} | settings
    return kind(random_state=seed, **options | {"max_depth": options["max_depth"] or None})


def _make_ridge(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    return make_pipeline(StandardScaler(), kind(**settings))


def _make_ensemble(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    return kind(random_state=seed, n_jobs=1, **settings)


def _make_adaboost(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    settings = dict(settings)
    depth = settings.pop("max_depth", height)
    tree = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    return kind(tree(max_depth=depth), random_state=seed, **settings)


class _Boosted:
    """XGBoost, stopped where validation rows stop gaining; it knows class numbers only."""

    def __init__(self, model: Any, labels: bool) -> None:
        self.model, self.labels = model, labels

    def fit(self, X: Any, y: Any, X_val: Any, y_val: Any) -> _Boosted:
        if self.labels:
            self.classes_ = np.unique(y)
            y, y_val = (np.searchsorted(self.classes_, target) for target in (y, y_val))
        self.model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False)
        return self

    def predict(self, X: Any) -> np.ndarray:
        answer = self.model.predict(X)
        return self.classes_[answer] if self.labels else answer


def _make_xgboost(kind: Any, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    import xgboost

    options = {"max_depth": height, "early_stopping_rounds": 30} | settings
    model = getattr(xgboost, kind)(random_state=seed, n_jobs=1, **options)
    return _Boosted(model, task == "classification")


_EPOCHS = {"max_epochs": 2}
_FEW = {"n_estimators": 2}
KINDS: dict[str, Kind] = {
    "dgt": Kind(_make_tree, DGTRegressor, DGTClassifier, _EPOCHS | {"tries": 1}, True),
    "tao": Kind(_make_plain, TAORegressor, TAOClassifier, {"n_passes": 1}, True),
    "lcn": Kind(_make_plain, LCNRegressor, LCNClassifier, _EPOCHS, True),
    "tel": Kind(_make_plain, TELRegressor, TELClassifier, _EPOCHS, True),
    "pat": Kind(_make_plain, PATRegressor, PATClassifier, _EPOCHS, True),
    "ridge": Kind(_make_ridge, Ridge, None, {}),
    "cart": Kind(_make_cart, DecisionTreeRegressor, DecisionTreeClassifier, {}),
    "dgt-forest": Kind(_make_tree, DGTForestRegressor, DGTForestClassifier, _EPOCHS | _FEW),
    "dgt-grown": Kind(_make_grown, DGTForestRegressor, DGTForestClassifier, _FEW),
    "dgt-boosting": Kind(_make_ensemble, DGTBoostingRegressor, DGTBoostingClassifier, _FEW),
    "xgboost": Kind(_make_xgboost, "XGBRegressor", "XGBClassifier", _FEW, True),
    "adaboost": Kind(_make_adaboost, AdaBoostRegressor, AdaBoostClassifier, _FEW),
    "random-forest": Kind(_make_ensemble, RandomForestRegressor, RandomForestClassifier, _FEW),
}


def make_model(kind: str, task: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    """A model of these settings, untrained."""
    settings = {key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()}
    settings.pop("rows", None)
    known = KINDS[kind]
    estimator = known.regressor if task == "regression" else known.classifier
    return known.make(estimator, task, height, seed, settings)


def fit_model(kind: str, task: str, height: int, seed: int, settings: dict, data: Split) -> Any:
    """A model of these settings, trained on the training part or on what `rows` says."""
    data = select_rows(data, settings.get("rows"))
    validates = KINDS[kind].validates and len(data.y_val)
    held_out = {"X_val": data.X_val, "y_val": data.y_val} if validates else {}
    return make_model(kind, task, height, seed, settings).fit(
        data.X_train, data.y_train, **held_out
    )


def select_rows(data: Split, rows: int | str | None) -> Split:
    """The same split with a random part of the training rows, where there are more than `rows`.

    "all" trains on the validation rows too, as some authors do; nothing can be chosen on them then.
    """
    if rows == "all":
        return replace(
            data,
            X_train=np.concatenate((data.X_train, data.X_val)),
            y_train=np.concatenate((data.y_train, data.y_val)),
            X_val=data.X_val[:0],
            y_val=data.y_val[:0],
        )
    assert not isinstance(rows, str)
    if rows is None or rows >= len(data.y_train):
        return data
    kept = np.random.RandomState(0).permutation(len(data.y_train))[:rows]
    return replace(data, X_train=data.X_train[kept], y_train=data.y_train[kept])


def score(model: Any, metric: str, X: np.ndarray, y: np.ndarray) -> float:
    """RMSE, accuracy in per cent, or area under the ROC curve; not a number without rows."""
    if not len(y):
        return float("nan")
    if metric == "auc":
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    guess = model.predict(X)
    if metric == "rmse":
        return float(np.sqrt(np.mean((guess - y) ** 2)))
    return 100.0 * float(np.mean(guess == y))


def describe_model(model: Any, data: Split) -> dict[str, Any]:
    """What else there is to know of a model: its size, what a prediction costs, what it took."""
    found: dict[str, Any] = {}
    tree: Any = getattr(model, "tree_", None)
    if hasattr(tree, "flops"):
        found = {"leaves": tree.n_leaves, "depth": tree.depth, "flops": float(tree.flops)}
        found["leaves_reached"] = 1.0
    elif hasattr(model, "flops"):
        found["flops"] = float(model.flops(data.X_test))
        found["leaves_reached"] = float(model.mean_leaves_reached(data.X_test))
    elif hasattr(model, "get_n_leaves"):
        found = {"leaves": int(model.get_n_leaves()), "depth": int(model.get_depth())}
    if hasattr(model, "_trainer_"):
        # The tree as it was trained, complete: what is delivered has lost its empty branches.
        visits, _ = model._trainer_.harden().visits(model.model_.encode(data.X_train))
        found |= {"nodes": len(visits), "nodes_reached": int((visits > 0).sum())}
    for name in ("n_iter_", "soft_loss_", "hard_loss_"):
        value = getattr(model, name, None)
        if isinstance(value, (int, float)):
            found[name.rstrip("_")] = value
    return found
