"""DGTBoostingClassifier and DGTBoostingRegressor: sums of small oblique trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.boosting_base import BoostingEstimator
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.learn.boosting_losses import LOSSES, CrossEntropy, Logistic, Loss
from dgtrees.learn.scaling import LEAST_SCALE, squarable_units
from dgtrees.tables.encoder import Encoder
from dgtrees.tables.examples import Examples

__all__ = ["DGTBoostingClassifier", "DGTBoostingRegressor"]


class DGTBoostingClassifier(ClassTarget, BoostingEstimator):
    """A sum of small hard trees for classification, oblique where that gains, grown by boosting.

    Parameters
    ----------
    n_estimators : int or "auto", default "auto"
        Most rounds, 1000 for "auto"; held-out rows stop earlier.
    learning_rate : float, default 0.15
        Share of every step that is taken.
    max_leaves : int, default 31
        Most leaves of a tree.
    min_samples_leaf : int or "auto", default "auto"
        Fewest rows of a leaf; "auto" is 20 or 5, whichever does better on held-out rows.
    oblique : bool or "auto", default "auto"
        Whether nodes may be oblique; "auto" is decided on held-out rows.
    linear : bool or "auto", default "auto"
        Whether the sum starts from a logistic regression; "auto" is decided on held-out rows.
    leaf : {"auto", "constant", "linear", "mixed"}, default "auto"
        What trees have: constants in their leaves, or linear functions of the row, or one and the
        other in turns. "auto" is constant for classes.
    tune : bool or "auto", default "auto"
        Whether all trees of a sum are tuned together by the gradient once they are grown; held-out
        rows say for how long, and whether that is kept (`tuned_`). "auto" moves the values of
        leaves, up to 50,000 rows; True tries to move boundaries too, which takes several times
        as long as growing the trees. Trees with `monotonic` columns are not tuned.
    n_folds : int or None, default 4
        The model is the mean of so many sums of trees. Each is grown on all folds but one, which
        says when to stop. None grows one sum of `n_estimators` rounds on all rows.
    validation_fraction : float or None, default None
        Share of the rows to hold out once, for one sum of trees, instead of folds.
    patience : int or None, default 20
        Rounds without a lower held-out loss that end training.
    l2 : float, default 1.0
        Penalty on squared leaf values.
    max_samples, max_features : float, default 1.0
        Shares of the rows and of the columns that are drawn for every tree.
    monotonic : sequence or dict of {-1, 0, 1}, optional
        Columns that the probability of the second class may only fall (-1) or rise (1) with.
    class_weight : dict or "balanced", optional
        Weights of classes.
    warm_start : bool, default False
        Let the next fit, on the same rows, add trees up to `n_estimators`.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    n_jobs : int, optional
        Threads, one for each of the folds at most; -1 for all cores. The model is the same for
        any number.
    random_state : int, RandomState or None
        Seed.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    forest_ : ObliqueForest
        The trees (`forest_.trees`), and what is added to their sum (`forest_.base`).
    chosen_ : BoostingSettings
        How the trees were grown.
    tuned_ : bool
        Whether they were tuned together, to the good of held-out rows.
    classes_ : ndarray of shape (classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares of what splits gained; an oblique split's is divided by weight.
    n_iter_ : int
        Rounds.
    best_score_ : float or None
        Held-out loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DGTBoostingClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        learning_rate: float = 0.15,
        max_leaves: int = 31,
        min_samples_leaf: int | str = "auto",
        oblique: bool | str = "auto",
        linear: bool | str = "auto",
        leaf: str = "auto",
        tune: bool | str = "auto",
        n_folds: int | None = 4,
        validation_fraction: float | None = None,
        patience: int | None = 20,
        l2: float = 1.0,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        monotonic: Sequence[int] | Mapping[str, int] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        warm_start: bool = False,
        encoder: Encoder | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.oblique = oblique
        self.linear = linear
        self.leaf = leaf
        self.tune = tune
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.l2 = l2
        self.max_samples = max_samples
        self.max_features = max_features
        self.monotonic = monotonic
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _boosting_loss(self) -> Loss:
        return Logistic() if self._n_classes == 2 else CrossEntropy()

    def _boosting_target(self, y: np.ndarray) -> np.ndarray:
        shares = np.eye(self._n_classes)[y]
        return shares[:, 1:] if self._n_classes == 2 else shares

    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        if self._n_classes == 2:  # the first class has the score 0
            return np.array([[0.0], [1.0]]), np.zeros(2)
        return np.eye(self._n_classes), np.zeros(self._n_classes)

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """`predict_proba` after every round of trees."""
        for outputs in self._staged_outputs(X):
            yield self._probabilities(outputs)


class DGTBoostingRegressor(ValueTarget, BoostingEstimator):
    """A sum of small hard trees for regression, oblique where that gains, grown by boosting.

    Parameters
    ----------
    n_estimators : int or "auto", default "auto"
        Most rounds, 1000 for "auto"; held-out rows stop earlier.
    learning_rate : float, default 0.1
        Share of every step that is taken.
    max_leaves : int, default 31
        Most leaves of a tree.
    min_samples_leaf : int or "auto", default "auto"
        Fewest rows of a leaf; "auto" is 20 or 5, whichever does better on held-out rows.
    loss : {"squared", "huber", "absolute", "quantile", "poisson"}, default "squared"
        What is lowered: half the squared error; the same up to half a standard deviation of the
        target, and linear beyond; the absolute error; the pinball loss of `quantile`; the deviance
        of counts, whose trees add up to the logarithm of the mean, and start from a constant.
    quantile : float, default 0.5
        What loss="quantile" predicts: the value that this share of targets lies below. It is
        moved, for all rows alike, to be so on held-out rows.
    oblique : bool or "auto", default "auto"
        Whether nodes may be oblique; "auto" is decided on held-out rows.
    linear : bool or "auto", default "auto"
        Whether the sum starts from a ridge regression; "auto" is decided on held-out rows.
        Predictions are then kept within the range of the training targets.
    leaf : {"auto", "constant", "linear", "mixed"}, default "auto"
        As in `DGTBoostingClassifier`. "auto" is decided on held-out rows where there are 2,000
        rows or more, and constant otherwise, and for quantiles and counts.
    tune : bool or "auto", default "auto"
        As in `DGTBoostingClassifier`.
    patience : int or None, default 25
        Rounds without a lower held-out loss that end training.
    n_folds, validation_fraction, l2, max_samples, max_features
        As in `DGTBoostingClassifier`.
    monotonic : sequence or dict of {-1, 0, 1}, optional
        Columns that predictions may only fall (-1) or rise (1) with.
    warm_start, encoder, n_jobs, random_state, verbose
        As in `DGTBoostingClassifier`.

    Attributes
    ----------
    forest_, chosen_, tuned_, n_features_in_, feature_names_in_, feature_importances_, n_iter_
    best_score_
        As in `DGTBoostingClassifier`; losses are those of standardised targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dgtrees import DGTBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = DGTBoostingRegressor(random_state=0).fit(X, y)
    >>> bool(reg.score(X, y) > 0.5)
    True
    """

    _spread: np.ndarray
    _center: np.ndarray

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        learning_rate: float = 0.1,
        max_leaves: int = 31,
        min_samples_leaf: int | str = "auto",
        loss: str = "squared",
        quantile: float = 0.5,
        oblique: bool | str = "auto",
        linear: bool | str = "auto",
        leaf: str = "auto",
        tune: bool | str = "auto",
        n_folds: int | None = 4,
        validation_fraction: float | None = None,
        patience: int | None = 25,
        l2: float = 1.0,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        monotonic: Sequence[int] | Mapping[str, int] | None = None,
        warm_start: bool = False,
        encoder: Encoder | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.loss = loss
        self.quantile = quantile
        self.oblique = oblique
        self.linear = linear
        self.leaf = leaf
        self.tune = tune
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.l2 = l2
        self.max_samples = max_samples
        self.max_features = max_features
        self.monotonic = monotonic
        self.warm_start = warm_start
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        if not isinstance(self.quantile, Real) or not 0.0 < float(self.quantile) < 1.0:
            raise ValueError(f"quantile must be between 0 and 1, got {self.quantile!r}")
        if self.loss in ("absolute", "quantile", "poisson") and self.leaf in ("linear", "mixed"):
            raise ValueError(
                f"leaf must be 'auto' or 'constant' with loss={self.loss!r}, got {self.leaf!r}: "
                "leave it out"
            )
        if self._counts and self.linear is True:
            raise ValueError(
                "linear must be 'auto' or False with loss='poisson', got True: leave it out"
            )

    @property
    def _counts(self) -> bool:
        return self.loss == "poisson"

    @property
    def _may_be_linear(self) -> bool:
        return not self._counts

    def _boosting_loss(self) -> Loss:
        if self.loss == "quantile":
            return LOSSES["quantile"](float(self.quantile))
        return LOSSES[self.loss]()

    def _learn_scale(self, train: Examples) -> None:
        if self._counts:
            self._center, self._spread = np.zeros(train.y.shape[1]), np.ones(train.y.shape[1])
            return
        total, unit = train.weight.sum(), squarable_units(train.y)
        y = train.y / unit
        center = train.weight @ y / total
        spread = np.sqrt(train.weight @ (y - center) ** 2 / total) * unit
        self._center = center * unit
        self._spread = np.where(spread > LEAST_SCALE, spread, 1.0)

    def _learn_target(self, y: Any) -> None:
        super()._learn_target(y)
        self._answer = replace(self._answer, logarithms=self._counts)

    def _read_target(self, y: Any) -> np.ndarray:
        y = super()._read_target(y)
        if self._counts and (y < 0).any():
            raise ValueError(
                f"y must not be negative with loss='poisson', got {y.min():g}: take another loss"
            )
        return y

    def _boosting_target(self, y: np.ndarray) -> np.ndarray:
        return (y - self._center) / self._spread

    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        return np.diag(self._spread), self._center
