"""Tree Alternating Optimization (TAO): hard oblique trees without gradients.

A tree of given shape is improved node by node, from the deepest up, everything else held fixed;
`learn.polish` has the passes and says how. Here are the trees to start from, the choice on
validation rows, and scikit-learn's interface.

References
----------
Carreira-Perpinan, Tavallali: Alternating optimization of decision trees, with application to
learning sparse oblique trees, NeurIPS 2018 (classification).

Zharmagambetov, Carreira-Perpinan: Smaller, more accurate regression forests using tree alternating
optimization, ICML 2020 (regression, linear leaves).

Note that a US patent application, 20220318641, exists on TAO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dgtrees.estimators.parameters import check_shape
from dgtrees.estimators.single_tree import SingleTree
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.learn import refine
from dgtrees.learn.best_tree import Best
from dgtrees.learn.polish import Polish, polish, training_loss
from dgtrees.learn.scaling import moments
from dgtrees.paper.baselines.initial_trees import cart_tree, random_tree
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["TAOClassifier", "TAORegressor"]

_CHOICES = {"init": ("cart", "random"), "penalty": ("l1", "l2")}


@dataclass(eq=False, repr=False)
class _Alternating(SingleTree):
    """Parameters and fit of both estimators."""

    max_depth: int = 6
    _: KW_ONLY
    leaf: str = "constant"
    init: str = "cart"
    alpha: float | Sequence[float] = 0.3
    penalty: str = "l1"
    n_passes: int = 20
    max_iter: int = 20
    tol: float = 5e-2
    leaf_strength: float = 1.0
    validation_fraction: float | None = None
    random_state: int | np.random.RandomState | None = None

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> None:
        alphas = _check_parameters(self)
        train, validation, seed = self._training_rows(
            X, y, sample_weight, X_val, y_val, sample_weight_val
        )
        with threadpool_limits(limits=1):  # the same sums on every machine
            fit = _Fit(self, train, validation, seed)
            for alpha in alphas:
                fit.run_passes(alpha)
            tree, importance = fit.unscale(), fit.importance()
        leaf_rows, passes = tree.visits(train.X, train.weight)[1], len(fit.history["loss"])
        told = fit.history, passes, fit.best_score
        self._deliver(tree, importance, fit.scale, leaf_rows, *told)


class _Fit:
    """Standardiser rows, the tree as it stands, and the best tree so far."""

    def __init__(
        self, estimator: Any, train: Examples, validation: Examples | None, seed: int
    ) -> None:
        self.estimator, self.seed = estimator, seed
        self.n_classes = estimator._n_classes
        self.center, self.scale = moments(train.X, train.weight)
        self.scale[self.scale == 0] = 1.0
        outputs = self.n_classes or train.y.shape[1]
        self.y_center, self.y_scale = np.zeros(outputs), np.ones(outputs)
        if not self.n_classes:
            self.y_center, self.y_scale = moments(train.y, train.weight)
        self.rows = self._rows(train)
        self.held_out = None if validation is None else self._rows(validation)
        self.loss = "zero_one" if self.n_classes else "squared"
        self.tree = self._start()
        self.best = Best(None if validation is None else self._score)
        self.history: dict[str, list[float]] = {"loss": []}
        if validation is not None:
            self.history[self._metric] = []

    @property
    def _metric(self) -> str:
        return "val_accuracy" if self.n_classes else "val_rmse"

    @property
    def best_score(self) -> float | None:
        """Validation accuracy or (standardised) RMSE of the tree that is kept."""
        return None if self.held_out is None else self._value(self.best.score)

    def _rows(self, examples: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = (examples.X - self.center) / self.scale
        if self.n_classes:
            target = np.eye(self.n_classes)[examples.y.astype(np.int64)]
        else:
            target = (examples.y - self.y_center) / np.where(self.y_scale > 0, self.y_scale, 1.0)
        return X, target, examples.weight

    def _start(self) -> ObliqueTree:
        depth, linear = int(self.estimator.max_depth), self.estimator.leaf == "linear"
        grow = cart_tree if self.estimator.init == "cart" else random_tree
        classes = self.n_classes > 0
        tree = grow(*self.rows, depth, classes, self.seed)
        tree = refine.refit_leaves(tree, *self.rows, 1.0 if classes else 0.0, classes)
        if linear:
            slopes = np.zeros((tree.n_leaves, tree.n_outputs, tree.n_features))
            tree = tree.with_leaves(tree.leaf_values, slopes)
        return tree

    def run_passes(self, alpha: float) -> None:
        """Alternate at one strength of the penalty, going on from the present tree."""
        given = self.estimator
        settings = Polish(
            self.loss,
            alpha,
            given.penalty,
            given.max_iter,
            given.tol,
            given.leaf_strength,
            seed=self.seed,
        )
        self.tree = polish(self.tree, *self.rows, settings, int(given.n_passes), self._watch)

    def _watch(self, tree: ObliqueTree) -> None:
        total = self.rows[2].sum()
        self.history["loss"].append(training_loss(tree, *self.rows, self.loss) / total)
        score = self.best(tree)
        if self.held_out is not None:
            self.history[self._metric].append(self._value(score))

    def _score(self, tree: ObliqueTree) -> float:
        """Minus the mean loss of the validation rows."""
        assert self.held_out is not None
        return -training_loss(tree, *self.held_out, self.loss) / self.held_out[2].sum()

    def _value(self, score: float) -> float:
        return 1.0 + score if self.n_classes else float(np.sqrt(-score / len(self.y_center)))

    def unscale(self) -> ObliqueTree:
        """The best tree, on the rows as they came."""
        tree = self.best.tree.on_unscaled_inputs(self.center, self.scale)
        return tree if self.n_classes else tree.on_scaled_outputs(self.y_center, self.y_scale)

    def importance(self) -> np.ndarray:
        """What every input contributes to the best tree's splits, (d,)."""
        return refine.importance(self.best.tree, *self.rows)


class TAOClassifier(ClassTarget, _Alternating):
    """Oblique tree for classification by Tree Alternating Optimization.

    Every pass lowers the number of training rows whose class is wrong, or leaves it as it is. The
    DGT paper's settings: from CART, 40 passes, ``max_iter=20``, ``tol=5e-2`` and `alpha` chosen on
    validation rows among 1e-4, 1e-3, 1e-2, 0.1, 1, 10 and 30. A US patent application, 20220318641,
    exists on TAO.

    Parameters
    ----------
    max_depth : int, default 6
        Height of the tree to start from; it can only get smaller.
    leaf : {"constant", "linear"}, default "constant"
        Class shares, or a logistic regression in every leaf.
    init : {"cart", "random"}, default "cart"
        Start from scikit-learn's CART (by entropy, which is more even than Gini), or from random
        directions cut at the median.
    alpha : float or sequence of float, default 0.3
        Strength of the penalty on a node's weights against the sum of its rows' losses. Several
        are gone through in the order given, each from the tree of the one before; with validation
        rows the best tree of all passes is kept, without them the last.
    penalty : {"l1", "l2"}, default "l1"
    n_passes : int, default 20
        Most passes over the tree (for each alpha); fewer if one of them changes nothing.
    max_iter, tol : int, float
        Limits of the logistic regression in a node.
    leaf_strength : float, default 1.0
        Pseudo-rows of equal classes in a leaf; the ridge penalty of linear leaves.
    validation_fraction : float, optional
        Share of the rows to hold out where no X_val is given.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree itself, on unscaled features.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in `DGTClassifier`.
    history_ : dict of list
        Share of wrong training rows and, with validation rows, val_accuracy, one per pass.
    n_iter_ : int
        Passes made.
    best_score_ : float or None
        Best validation accuracy.

    References
    ----------
    Carreira-Perpinan, Tavallali: Alternating optimization of decision trees, with application to
    learning sparse oblique trees, NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees.paper.baselines import TAOClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TAOClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class TAORegressor(ValueTarget, _Alternating):
    """Oblique tree for regression by Tree Alternating Optimization.

    Every pass lowers the squared error of the training rows, or leaves it as it is. The DGT paper's
    settings: random nodes to start from, 40 passes, ``max_iter=20``, ``tol=5e-2`` and `alpha`
    chosen on validation rows among 1e-3, 1e-2, 0.1 and 1. A US patent application, 20220318641,
    exists on TAO.

    Parameters
    ----------
    max_depth : int, default 6
        Height of the tree to start from; it can only get smaller.
    leaf : {"constant", "linear"}, default "constant"
        Means, or a ridge regression in every leaf, whose predictions are kept within the range of
        the training targets.
    init : {"cart", "random"}, default "random"
        Start from scikit-learn's CART, or from random directions cut at the median.
    alpha : float or sequence of float, default (30, 10, 3, 1)
        Strength of the penalty on a node's weights against the sum of its rows' (standardised)
        squared errors. Several are gone through in the order given, each from the tree of the one
        before; with validation rows the best tree of all passes is kept, without them the last.
    penalty : {"l1", "l2"}, default "l1"
    n_passes : int, default 5
        Most passes over the tree (for each alpha); fewer if one of them changes nothing.
    max_iter, tol : int, float
        Limits of the logistic regression in a node.
    leaf_strength : float, default 1.0
        Ridge penalty of linear leaves.
    validation_fraction : float, optional
        Share of the rows to hold out where no X_val is given.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree itself, on unscaled features and targets.
    n_features_in_, feature_names_in_, feature_importances_
        As in `DGTRegressor`.
    history_ : dict of list
        Squared error of the training rows and, with validation rows, val_rmse (standardised), one
        entry per pass.
    n_iter_ : int
        Passes made.
    best_score_ : float or None
        Best validation RMSE, in standardised units.

    References
    ----------
    Zharmagambetov, Carreira-Perpinan: Smaller, more accurate regression forests using tree
    alternating optimization, ICML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dgtrees.paper.baselines import TAORegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = TAORegressor(max_depth=3, random_state=0).fit(X, y)
    >>> bool(reg.score(X, y) > 0.4)
    True
    """

    init: str = "random"
    alpha: float | Sequence[float] = (30.0, 10.0, 3.0, 1.0)
    n_passes: int = 5


def _check_parameters(estimator: Any) -> list[float]:
    """Check all parameters; the strengths to go through."""
    check_shape(estimator)
    for name, allowed in _CHOICES.items():
        if getattr(estimator, name) not in allowed:
            raise ValueError(
                f"{name} must be one of {', '.join(allowed)}, got {getattr(estimator, name)!r}"
            )
    for name in ("n_passes", "max_iter"):
        value = getattr(estimator, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    for name in ("tol", "leaf_strength"):
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name} must be a number above 0, got {value!r}")
    alpha = estimator.alpha
    alphas = [alpha] if isinstance(alpha, Real) else list(alpha)
    if not alphas or not all(isinstance(a, Real) and 0 < float(a) < np.inf for a in alphas):
        raise ValueError(f"alpha must be a number above 0, or several of them, got {alpha!r}")
    return [float(a) for a in alphas]
