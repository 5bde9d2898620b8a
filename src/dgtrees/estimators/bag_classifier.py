"""DGTBagClassifier: learns from one label per bag of rows which rows make a bag positive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from dgtrees.errors import Problems
from dgtrees.estimators.callbacks import tell
from dgtrees.estimators.delegation import ModelEstimator
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.estimators.target_types import ClassTarget
from dgtrees.learn.bag_choice import BagChoice
from dgtrees.learn.bag_members import FittedBags, fit_bags
from dgtrees.model.bag_classes import BagClasses
from dgtrees.model.bag_explanation import BagExplanation, explain_bag
from dgtrees.tables.bags import POOLINGS, Bags, labels_of_bags, rows_and_bags
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.forest import ObliqueForest

__all__ = ["DGTBagClassifier"]

_LEAVES = ("auto", "constant", "linear")


@dataclass(eq=False, repr=False)
class DGTBagClassifier(ClassTarget, ModelEstimator):
    """Hard oblique tree for bags of rows of which only the bags are labelled.

    It gives every row odds of being what makes a bag positive. The odds of a bag are those of its
    rows, added up, or the highest of them: a row that is positive by itself makes any bag positive,
    whatever else is in it, and no row takes evidence away from another. What a row's odds are, a
    linear function of its columns (one leaf: the average of those that are about as good) or a tree
    of a few leaves, and how those of a bag are made of them, is chosen on held-out bags. A row
    without a bag is a bag of its own.

    Parameters
    ----------
    n_estimators : int, default 1
        Trees; more than one are trained each on a random half of the columns (of fewer than 64, on
        a bootstrap sample of the bags), and a row's score is the mean of theirs. Where a linear
        score is chosen, it is half of each, and a tree of up to 8 leaves the other half.
    max_leaves : int, optional
        Most leaves that a tree may have; without, up to 8 are tried. 1 for linear scores alone.
    leaf : {"auto", "constant", "linear"}, default "auto"
        What leaves hold: a score, or a linear function whose slopes all leaves share.
    pooling : {"auto", "sum", "max", "mean"}, default "auto"
        How odds of rows make those of a bag. "auto" chooses between "sum" and "max", which must be
        ahead by 0.01 of the Brier score. With "mean" many negative rows outvote a positive one.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    random_state : int, RandomState or None
        Seed.
    verbose : int, default 0
        1 shows what was tried.

    Attributes
    ----------
    model_ : Model
        What save, explain, plot, export and serve take. Its outputs are of rows; with `bags` it
        predicts bags.
    classes_ : ndarray of shape (2,)
        The label of negative bags, and that of positive ones.
    chosen_ : BagChoice
        What was tried, its Brier scores on held-out bags, and what was kept.
    pooling_ : str
        "sum", "max" or "mean".
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares of the columns in the variance of the rows' scores.

    Examples
    --------
    >>> import numpy as np
    >>> from dgtrees import DGTBagClassifier
    >>> random = np.random.default_rng(0)
    >>> X, bags = random.normal(size=(400, 2)), np.repeat(np.arange(100), 4)
    >>> y = [int((X[bags == bag, 0] > 1).any()) for bag in range(100)]
    >>> clf = DGTBagClassifier(random_state=0).fit(X, y, bags=bags)
    >>> bool(clf.score(X, y, bags=bags) > 0.9)
    True
    >>> clf.predict([[[-1.0, 0.0], [3.0, 0.0]], [[-1.0, 0.0]]])  # a list of bags
    array([1, 0])
    """

    n_estimators: int = 1
    _: KW_ONLY
    max_leaves: int | None = None
    leaf: str = "auto"
    pooling: Literal["auto", "sum", "max", "mean"] = "auto"
    encoder: Encoder | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | Mapping[Any, Any],
        bags: ArrayLike | None = None,
    ) -> Self:
        """Learn scores of rows from labels of bags.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features), or a list of such, one per bag
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or (bags,), or a mapping of bags to labels
            Per row, where all rows of a bag have the same; or per bag, in the order in which bags
            first appear. The larger of the two labels is that of positive bags.
        bags : array-like of shape (rows,), optional
            The bag of every row: numbers or strings in any order.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._fit(X, y, bags)
        return self

    def _fit(self, X: Any, y: Any, bags: Any) -> None:
        self._check()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, found = rows_and_bags(X, bags)
        table = self._read_table(X, first=True)
        rows = len(table) if isinstance(table, np.ndarray) else len(table[0][1])
        found = Bags.alone(rows) if found is None else found
        y = y if isinstance(y, Mapping) else column_or_1d(y, warn=True)
        labels = labels_of_bags(y, found)
        self._learn_target(labels)
        target = self._read_target(labels)
        encoded = self._learn_encoding(table, np.ones(rows), target[found.number])
        fitted = fit_bags(
            encoded,
            found,
            target,
            ~np.isnan(self._encoder.medians),
            n_trees=int(self.n_estimators),
            poolings=("sum", "max") if self.pooling == "auto" else (self.pooling,),
            leaf=self.leaf,
            max_leaves=self.max_leaves,
            seed=check_random_state(self.random_state).randint(2**31 - 1),
        )
        self._deliver_bags(fitted)
        if self.verbose:
            tell(str(self.chosen_))

    def _deliver_bags(self, fitted: FittedBags) -> None:
        plan = fitted.choice.plan
        self._encoder = self._encoder.reaching(*fitted.reach)
        if fitted.center is not None:
            self._encoder = self._encoder.with_distances(fitted.center)
        importance = np.zeros(self.n_features_in_)
        np.add.at(importance, self._encoder.source, fitted.importance)
        self._answer = BagClasses(self.classes_, pooling=plan.pooling)
        self.model_ = self._finished(
            fitted.trees,
            None if len(fitted.trees) == 1 else "mean",
            importance=importance,
            scale=fitted.scale,
            leaf_rows=[tree.visits(fitted.rows)[1] for tree in fitted.trees],
        )
        self.chosen_: BagChoice = fitted.choice

    def _check(self) -> None:
        problems = Problems()
        trees, leaves = self.n_estimators, self.max_leaves
        problems.require(
            isinstance(trees, Integral) and not isinstance(trees, bool) and int(trees) >= 1,
            f"n_estimators must be a whole number of at least 1, got {trees!r}",
        )
        problems.require(
            leaves is None
            or (isinstance(leaves, Integral) and not isinstance(leaves, bool) and int(leaves) >= 1),
            f"max_leaves must be a whole number of at least 1, or None, got {leaves!r}",
        )
        problems.require(
            self.leaf in _LEAVES, f"leaf must be one of {', '.join(_LEAVES)}, got {self.leaf!r}"
        )
        problems.require(
            self.pooling in ("auto", *POOLINGS),
            f"pooling must be 'auto' or one of {', '.join(POOLINGS)}, got {self.pooling!r}",
        )
        problems.require(
            not (self.leaf == "constant" and leaves == 1),
            "a tree of constant leaves must have at least 2, got max_leaves=1: raise it, or "
            "choose another leaf",
        )
        problems.settle()

    def _learn_classes(self, classes: np.ndarray) -> None:
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"got {len(classes)} labels of bags; fit one model per label"
            )
        super()._learn_classes(classes)

    # Answers

    def _bag_outputs(self, X: Any, bags: Any) -> np.ndarray:
        X, found = rows_and_bags(X, bags)
        outputs = self._outputs(X)
        return outputs if found is None else self._of_bags(outputs, found)

    def _of_bags(self, outputs: np.ndarray, found: Bags) -> np.ndarray:
        assert isinstance(self._answer, BagClasses)
        return self._answer.of_bags(outputs, found)

    def predict(self, X: ArrayLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Label of every bag, in the order in which bags first appear, or of every row without."""
        outputs = self._bag_outputs(X, bags)
        return np.asarray(self._answer.predict(outputs))

    def predict_proba(self, X: ArrayLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Probabilities (bags, 2) of the two labels; of rows without bags."""
        outputs = self._bag_outputs(X, bags)
        return self._probabilities(outputs)

    def predict_log_proba(self, X: ArrayLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, bags))

    def decision_function(self, X: ArrayLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Logarithm of the odds of every bag (bags,), above 0 for a positive one."""
        outputs = self._bag_outputs(X, bags)
        return np.asarray(outputs[:, 1] - outputs[:, 0])

    def instance_scores(self, X: ArrayLike) -> np.ndarray:
        """Logarithm of the odds of every row (rows,); of a list of bags, row by row."""
        X, _ = rows_and_bags(X, None)
        outputs = self._outputs(X)
        return np.asarray(outputs[:, 1] - outputs[:, 0])

    def decisive_rows(self, X: ArrayLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Number of the row of highest odds of every bag, (bags,)."""
        rows, found = rows_and_bags(X, bags)
        scores = self.instance_scores(rows)
        return (Bags.alone(len(scores)) if found is None else found).decisive(scores)

    def explain_bag(self, X: ArrayLike, max_rows: int = 3) -> BagExplanation:
        """Why a bag, all rows of which are in X, got its prediction: its rows of highest odds."""
        return explain_bag(self, X, max_rows=max_rows)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike | Mapping[Any, Any],
        sample_weight: ArrayLike | None = None,
        bags: ArrayLike | None = None,
    ) -> float:
        """Share of the bags that are predicted right; weights are of bags."""
        rows, found = rows_and_bags(X, bags)
        if found is not None:
            y = labels_of_bags(y, found)
            return float(accuracy_score(y, self._pooled(rows, found), sample_weight=sample_weight))
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _pooled(self, rows: Any, found: Bags) -> np.ndarray:
        return np.asarray(self._answer.predict(self._of_bags(self._outputs(rows), found)))

    # What is known

    @property
    def pooling_(self) -> str:
        """How odds of rows make those of a bag."""
        assert isinstance(self._answer, BagClasses)
        return self._answer.pooling

    @property
    def forest_(self) -> ObliqueForest:
        """The trees, on unscaled features."""
        return self.model_.forest

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
