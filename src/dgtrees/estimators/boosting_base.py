"""What DGTBoostingClassifier and DGTBoostingRegressor share: fit, stages, warm starts.

Checks parameters, hands rows to `learn.boosted_sum`, and delivers the finished `Model`, a sum of
trees; reading rows is `tables`' part, answering `delegation`'s, targets are `target_types`'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from dgtrees.estimators.base import reach
from dgtrees.estimators.boosting_checks import check_boosting, check_tuning
from dgtrees.estimators.callbacks import progress_bar
from dgtrees.estimators.delegation import ModelEstimator
from dgtrees.estimators.monotonic import column_signs
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.learn.boosted_sum import BoostedSum, deal_folds, start_sum
from dgtrees.learn.boosting_losses import Loss
from dgtrees.learn.boosting_rows import prepare_rows
from dgtrees.learn.boosting_settings import BoostingSettings
from dgtrees.learn.boosting_tuning import TUNE_LEAVES, TUNE_NODES, TuningSettings, tuned_sum
from dgtrees.learn.threads import one_thread
from dgtrees.tables.examples import Examples
from dgtrees.tree.forest import ObliqueForest

__all__ = ["BoostingEstimator"]

_LEAST_ROWS = 20
_FEWEST_FOR_SLOPES = 2000
"""Rows of numbers from which on linear leaves are tried: they have gained on no smaller table."""
_LEAST_FOLD = 5
"""Rows below which a fold says nothing."""

_MOST_TUNED_ROWS = 50_000
"""Rows up to which values of leaves are tuned: the leaves of all rows in all trees are held."""

_MOST_ROUNDS = 1000
"""Rounds of "auto", which held-out rows end earlier."""

_ROUNDS_UNHELD = 50
"""Rounds where there are too few rows to hold any out."""


class BoostingEstimator(ModelEstimator):
    """Base of the boosted models; subclasses say what a target is and what loss is lowered."""

    n_estimators: int | str
    learning_rate: float
    max_leaves: int
    min_samples_leaf: int | str
    oblique: bool | str
    linear: bool | str
    leaf: str
    tune: bool | str
    n_folds: int | None
    validation_fraction: float | None
    patience: int | None
    l2: float
    max_samples: float
    max_features: float
    monotonic: Sequence[int] | Mapping[str, int] | None
    warm_start: bool
    n_jobs: int | None
    verbose: int
    _sum: BoostedSum
    _grown_from: tuple

    def _held_out_share(self, rows: int) -> float | None:
        return self.validation_fraction

    # Subclasses' part

    @property
    def _may_be_linear(self) -> bool:
        """Whether a line may be what a sum starts from."""
        return True

    def _boosting_loss(self) -> Loss:
        raise NotImplementedError

    def _boosting_target(self, y: np.ndarray) -> np.ndarray:
        """Targets as the loss takes them, (rows, outputs of the loss)."""
        raise NotImplementedError

    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Outputs of the model are the first, a matrix, times scores plus the second."""
        raise NotImplementedError

    # Fitting

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.
        X_val, y_val, sample_weight_val : optional
            Rows that say when to stop; there is then one sum of trees, of all other rows.

        Returns
        -------
        self
        """
        with unchanged_on_error(self), one_thread():
            self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> None:
        self._check_parameters()
        check_tuning(self.get_params(deep=False), X_val is not None)
        train, validation, seed = self._training_rows(
            X, y, sample_weight, X_val, y_val, sample_weight_val
        )
        counted = train.weight
        factors = self._row_factors(train.y, train.weight)
        if factors is not None:
            train = replace(train, weight=train.weight * factors)
        grown_from = self._identity(train, validation)
        if self.warm_start and hasattr(self, "_sum"):
            self._check_kept(grown_from)
        else:
            self._sum = self._start(train, validation, seed)
        self._grown_from = grown_from
        threads = effective_n_jobs(self.n_jobs)
        with progress_bar(bool(self.verbose), type(self).__name__, "round") as bars:
            self._sum.run(self._rounds(len(train.X)), threads, bars[0] if bars else None)
        found = [self._sum]
        for tuning in self._tunings(self._sum, len(train.X)):
            with progress_bar(bool(self.verbose), "tuning", "epoch") as bars:
                report = bars[0] if bars else None
                found.append(tuned_sum(self._sum, tuning, seed, threads, report))
        made = min(found, key=lambda each: each.held_loss() or 0.0)
        self.tuned_ = made is not self._sum
        self._deliver(made, counted)

    def _start(self, train: Examples, validation: Examples | None, seed: int) -> BoostedSum:
        """Boosters of these rows, of settings that are chosen where they are to be."""
        both = [train] if validation is None else [train, validation]
        self._learn_scale(train)
        y = np.concatenate([self._boosting_target(part.y) for part in both])
        X, weight = (np.concatenate([getattr(p, n) for p in both]) for n in ("X", "weight"))
        first = np.arange(len(train.X))
        rows = prepare_rows(X, y, weight, first, self._boosting_loss(), self._signs())
        parts = self._parts(y, first, len(X), seed)
        held_out = len(parts[0][1]) > 0
        settings = self._settings(len(train.X), held_out)
        choose = {
            "least_rows": held_out and self.min_samples_leaf == "auto",
            "linear": held_out
            and self.linear == "auto"
            and self._may_be_linear
            and bool((rows.signs == 0).any()),
            "varied": len(parts) > 2
            and self.linear == self.leaf == "auto"
            and self.oblique is not False
            and self._n_classes > 0
            and bool((rows.signs == 0).any()),
            "oblique": held_out and self.oblique == "auto" and X.shape[1] > 1,
            "leaf": held_out
            and self.leaf == "auto"
            and not self._n_classes
            and len(train.X) >= _FEWEST_FOR_SLOPES
            and self.oblique is not False
            and rows.loss.linear_steps[0] > 0.0
            and bool((rows.signs == 0).any()),
        }
        return start_sum(rows, parts, settings, choose, self._n_classes > 0, seed)

    def _parts(
        self, y: np.ndarray, train: np.ndarray, total: int, seed: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to learn from and held-out ones, for every sum of trees."""
        if total > len(train):
            return [(train, np.arange(len(train), total))]
        folds = 0 if self.n_folds is None or self.patience is None else int(self.n_folds)
        if folds < 2 or len(train) < folds * _LEAST_FOLD:
            return [(train, train[:0])]
        fold = deal_folds(y, folds, self._n_classes > 0, seed)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]

    def _settings(self, rows: int, held_out: bool) -> BoostingSettings:
        least = min(_LEAST_ROWS, max(1, rows // 10))
        return BoostingSettings(
            rounds=self._most_rounds,
            learning_rate=float(self.learning_rate),
            max_leaves=int(self.max_leaves),
            least_rows=least if self.min_samples_leaf == "auto" else int(self.min_samples_leaf),
            ridge=float(self.l2),
            row_share=float(self.max_samples),
            column_share=float(self.max_features),
            oblique=self.oblique == "auto" or bool(self.oblique),
            linear=self.linear is True,
            leaf="constant" if self.leaf == "auto" else self.leaf,
            patience=self.patience if held_out else None,
        )

    def _tunings(self, made: BoostedSum, rows: int) -> list[TuningSettings]:
        """In which ways the grown trees are tuned together; the best of them is kept."""
        if not self.tune or made.held_loss() is None or made.rows.signs.any():
            return []
        leaves = [TUNE_LEAVES] if rows <= _MOST_TUNED_ROWS else []
        return leaves if self.tune == "auto" else [*leaves, TUNE_NODES]

    def _rounds(self, rows: int) -> int:
        held_out = len(self._sum.boosters[0].held) > 0
        unheld = self.n_folds is None or self.patience is None
        most = self._most_rounds
        return most if held_out or unheld else min(most, _ROUNDS_UNHELD)

    @property
    def _most_rounds(self) -> int:
        return _MOST_ROUNDS if self.n_estimators == "auto" else int(self.n_estimators)

    def _learn_scale(self, train: Examples) -> None:
        """Learn what targets are scaled by, if they are."""

    def _deliver(self, made: BoostedSum, weight: np.ndarray) -> None:
        """End the fit with the model."""
        matrix, shift = self._expansion()
        if made.adds_columns:
            self._encoder = self._encoder.reaching(*reach(made.rows.X))
        features = np.zeros(self.n_features_in_)
        np.add.at(features, self._encoder.source, made.importance())
        self.chosen_ = made.settings
        self.model_ = self._finished(
            made.trees(matrix),
            "sum",
            base=self._without_weights(made.base(matrix, shift)),
            importance=features,
            scale=made.rows.scale,
            leaf_rows=made.leaf_rows(),
            stages=made.stages(),
            best_score=made.held_loss(),
        )

    # Parameters

    def _check_parameters(self) -> None:
        check_boosting(self.get_params(deep=False))

    def _signs(self) -> np.ndarray:
        signs = column_signs(self._encoder, self.monotonic)
        if signs.any() and len(self._expansion()[0].T) > 1:
            raise ValueError(
                "monotonic is for one number or two classes, got several outputs: leave it out"
            )
        return signs

    # Going on

    def _identity(self, train: Examples, validation: Examples | None) -> tuple:
        given: dict[str, Any] = dict(self.get_params(deep=False))
        free = {"n_estimators", "tune", "warm_start", "n_jobs", "verbose", "encoder"}
        kept = {name: repr(value) for name, value in given.items() if name not in free}
        parts = [part for part in (train, validation) if part is not None]
        rows = [hash(np.asarray(a).tobytes()) for p in parts for a in (p.X, p.y, p.weight)]
        return rows, kept

    def _check_kept(self, grown_from: tuple) -> None:
        if grown_from != self._grown_from:
            raise ValueError(
                "warm_start adds trees to a sum of the same rows and parameters, and some have "
                "changed: change them back, or fit with warm_start=False"
            )
        have = max(len(booster.trees) for booster in self._sum.boosters)
        if self._most_rounds < have:
            raise ValueError(
                f"with warm_start n_estimators must not fall below the {have} rounds there are, "
                f"got {self.n_estimators}: set it higher, or warm_start=False"
            )

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_sum", "_grown_from")}

    # Answers

    @property
    def forest_(self) -> ObliqueForest:
        """The trees, on unscaled features, and what is added to their sum."""
        return self.model_.forest

    @property
    def n_iter_(self) -> int:
        """Rounds that the model has trees of."""
        return len(self.model_.facts.scores["stages"])

    @property
    def best_score_(self) -> float | None:
        """Mean held-out loss of the sums; None where nothing was held out."""
        return self.model_.facts.scores["best_score"]

    def _staged_outputs(self, X: Any) -> Iterator[np.ndarray]:
        rows = self._rows_to_predict(X)
        forest, before = self.forest_, 0
        sums = np.zeros((len(rows), forest.n_outputs))
        base = 0.0 if forest.base is None else forest.base.predict(rows)
        for count in self.model_.facts.scores["stages"]:
            for tree in forest.trees[before:count]:
                sums += tree.predict(rows)
            before = count
            whole = sums + base
            yield whole if forest.bounds is None else np.clip(whole, *forest.bounds)

    def staged_predict(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """`predict` after every round of trees."""
        for outputs in self._staged_outputs(X):
            yield self._answer.predict(outputs)
