"""What simple models make of the same rows: a constant, a linear model, CART.

Rows are encoded already. CART's size and the linear regression's penalty are chosen by
cross-validation on the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees.estimators.judging import judge_classes, judge_values

__all__ = ["Yardsticks"]

_SIZES = {"max_leaf_nodes": [4, 16, 64, 256]}
_PENALTIES = [0.1, 1.0, 10.0, 100.0]
_FOLDS = 3
_SUSPECTS = 3
"""Columns that are asked whether they give the target away: those that CART uses most."""
_GIVEN_AWAY = 0.995
"""Share of what can be explained at all; a column that explains more by itself is suspicious."""


class Yardsticks:
    """Simple models of some rows, and their scores on new ones.

    Parameters
    ----------
    rows : ndarray of shape (rows, columns)
    target : ndarray of shape (rows,)
        Class numbers where there are `classes`, numbers otherwise.
    weight : ndarray of shape (rows,) or None
    classes : sequence or None
        Names.
    """

    def __init__(
        self,
        rows: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray | None,
        classes: Sequence[Any] | None,
    ) -> None:
        self._classes = classes
        self._scaler = StandardScaler().fit(rows)
        scarce = classes is not None and np.bincount(target).max() < _FOLDS
        folds = KFold(_FOLDS) if scarce else _FOLDS  # else classes in proportion
        self._models: dict[str, Any] = _simple_models(classes is not None, folds)
        self._parts = rows, target, weight
        with warnings.catch_warnings():  # a class of two rows, steps that do not converge
            warnings.simplefilter("ignore")
            for name, model in self._models.items():
                model.fit(self._columns(name, rows), target, sample_weight=weight)

    def scores(self, rows: np.ndarray, target: np.ndarray) -> dict[str, dict[str, Any]]:
        """What `judging` says of every model, by its name."""
        return {
            name: self._score(model, self._columns(name, rows), target)
            for name, model in self._models.items()
        }

    def giveaways(
        self, source: np.ndarray, rows: np.ndarray, target: np.ndarray
    ) -> list[tuple[int, float]]:
        """Columns that alone predict (nearly) all of the target, and the score of each.

        `source` says from which column of the table every encoded one comes; scores are accuracy
        or R2 on the new rows.
        """
        used = np.bincount(
            source, weights=self._models["CART"].best_estimator_.feature_importances_
        )
        known, own, weight = self._parts
        found = []
        for column in np.argsort(-used)[:_SUSPECTS].tolist():
            mine = np.flatnonzero(source == column)
            alone = _cart(self._classes is not None, max_leaf_nodes=64)
            alone.fit(known[:, mine], own, sample_weight=weight)
            score = self._score(alone, rows[:, mine], target)
            if self._classes is None:
                reached = level = score["r2"]
            else:
                reached, least = score["accuracy"], score["majority_accuracy"]
                level = (reached - least) / (1.0 - least) if least < 1.0 else 0.0
            if level is not None and level >= _GIVEN_AWAY:
                found.append((column, reached))
        return found

    def _columns(self, name: str, rows: np.ndarray) -> np.ndarray:
        return self._scaler.transform(rows) if name == "linear" else rows

    def _score(self, model: Any, rows: np.ndarray, target: np.ndarray) -> dict[str, Any]:
        if self._classes is None:
            return judge_values(target, model.predict(rows))
        shares = np.zeros((len(rows), len(self._classes)))
        shares[:, model.classes_] = model.predict_proba(rows)
        return judge_classes(target, shares, shares.argmax(axis=1), self._classes)


def _simple_models(classify: bool, folds: Any) -> dict[str, Any]:
    """Unfitted, by the names that users see."""
    cart = GridSearchCV(_cart(classify), _SIZES, cv=folds)
    if classify:
        linear, constant = LogisticRegression(max_iter=300), DummyClassifier()
    else:
        linear, constant = RidgeCV(alphas=_PENALTIES), DummyRegressor()
    return {"linear": linear, "CART": cart, "constant": constant}


def _cart(classify: bool, **options: Any) -> Any:
    kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
    return kind(random_state=0, **options)
