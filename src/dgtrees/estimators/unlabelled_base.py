"""What DGTClusterer and DGTAutoencoder share: rows without labels, and a tree of them.

First centres are k-means' (scikit-learn's); `learn.unlabelled` makes the tree. Ends in a `Model` of
`Clusters`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dgtrees.errors import Problems
from dgtrees.estimators.delegation import TreeEstimator
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.estimators.sklearn_bases import TransformerMixin
from dgtrees.learn.cuts import CutSettings
from dgtrees.learn.quiet import quiet
from dgtrees.learn.scaling import LEAST_SCALE, moments, squarable_units
from dgtrees.learn.threads import one_thread
from dgtrees.learn.unlabelled import fit_unlabelled
from dgtrees.model.cluster_rules import ClusterRule, describe_clusters
from dgtrees.model.clusters import Clusters
from dgtrees.tables.encoder import Encoder
from dgtrees.tables.examples import merge_repeated
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["UnlabelledEstimator", "UnlabelledParameters"]

_LARGEST = 1e50
"""Of numbers whose squares, and products of these, are finite."""


@dataclass(eq=False, repr=False)
class UnlabelledParameters:
    """How a tree of rows without labels is fitted."""

    _: KW_ONLY
    standardize: bool = False
    balance: float = 2.0
    n_init: int = 1
    max_iter: int = 10
    encoder: Encoder | None = None
    random_state: int | np.random.RandomState | None = None


class UnlabelledEstimator(TransformerMixin, UnlabelledParameters, TreeEstimator):
    """Base of estimators whose tree is learnt from rows alone."""

    _task = Clusters.task
    _answer: Clusters
    _counts: ClassVar[tuple[str, ...]]
    """Parameters that are whole numbers of at least 1."""

    labels_: np.ndarray
    """Leaf of every row of `fit`; a loaded model, which has no such rows, is without."""

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the leaves, and what stands for their rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : ignored
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.

        Returns
        -------
        self
        """
        self._check_unlabelled()
        with unchanged_on_error(self):
            self._fit_unlabelled(X, sample_weight)
        return self

    @property
    def _rank(self) -> int:
        """Directions of a leaf."""
        return 0

    def _check_unlabelled(self) -> None:
        problems = Problems()
        for name in (*self._counts, "n_init"):
            value = getattr(self, name)
            problems.require(
                isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1,
                f"{name} must be a whole number of at least 1, got {value!r}",
            )
        problems.require(
            isinstance(self.max_iter, Integral) and int(self.max_iter) >= 0,
            f"max_iter must be a whole number of at least 0, got {self.max_iter!r}",
        )
        problems.require(
            isinstance(self.balance, Real) and 0 <= float(self.balance) < np.inf,
            f"balance must be a number of at least 0, got {self.balance!r}",
        )
        problems.require(
            isinstance(self.standardize, (bool, np.bool_)),
            f"standardize must be True or False, got {self.standardize!r}",
        )
        problems.settle()

    def _leaves_for(self, distinct: int, rows: int) -> int:
        """How many leaves a tree of so many rows has."""
        raise NotImplementedError

    def _fit_unlabelled(self, X: Any, sample_weight: Any) -> None:
        encoded, weight = self._learn_rows(X, sample_weight)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        spread = _spread(encoded, weight)
        scale = spread if self.standardize else np.ones(len(spread))
        if not self.standardize and (largest := np.abs(encoded).max()) > _LARGEST:
            raise ValueError(
                f"X must hold numbers of at most {_LARGEST:g}, got {largest:g}: "
                "set standardize=True"
            )
        none = np.zeros((len(encoded), 1))
        rows, _, mass, _ = merge_repeated(encoded / scale, none, weight)
        leaves = self._leaves_for(len(rows), len(weight))
        with one_thread(), quiet():
            tries = 1 if self._rank else 10  # leaves with directions only begin at the centres
            means = KMeans(leaves, n_init=tries, random_state=seed).fit(rows, sample_weight=mass)
            found = fit_unlabelled(
                rows,
                mass,
                means.cluster_centers_,
                rank=self._rank,
                settings=CutSettings(balance=float(self.balance)),
                passes=int(self.max_iter),
                starts=int(self.n_init),
                seed=seed,
            )
        tree = found.tree.on_unscaled_inputs(np.zeros(len(scale)), scale)
        self._deliver_unlabelled(tree, found, encoded, weight, scale, spread)

    def _deliver_unlabelled(
        self,
        tree: ObliqueTree,
        found: Any,
        encoded: np.ndarray,
        weight: np.ndarray,
        scale: np.ndarray,
        spread: np.ndarray,
    ) -> None:
        bases = getattr(found.shapes, "bases", None)
        self._answer = Clusters(found.shapes.centres * scale, scale, bases)
        self.labels_ = tree.apply(encoded)
        importance = np.zeros(self.n_features_in_)
        by_column = _importance(tree, encoded, weight, scale, self.labels_)
        np.add.at(importance, self._encoder.source, by_column)
        self.model_ = self._finished(
            (tree,),
            importance=importance,
            scale=spread,
            leaf_rows=(np.bincount(self.labels_, weight, minlength=tree.n_leaves),),
            history={"cost": found.history},
            n_iter=len(found.history) - 1,
            inertia=float(weight @ self._costs(encoded, self.labels_)),
        )

    def _learn_rows(self, X: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Encoded rows and their weights; learns the encoding."""
        table = self._read_table(X, True)
        first = table if isinstance(table, np.ndarray) else table[0][1]
        weight = _check_sample_weight(
            sample_weight, first, dtype=np.float64, ensure_non_negative=True
        )
        if not weight.any():
            raise ValueError("sample_weight must be above 0 for at least one row, got none")
        if isinstance(table, np.ndarray):
            encoded = self._learn_encoding(table, weight, np.empty(0))
        else:
            settings = self.encoder
            self._encoder = Encoder() if settings is None else settings.unfitted()
            encoded = self._encoder.fit(table, weight).expand(table)
        return np.ascontiguousarray(encoded, dtype=np.float64), weight

    # Answers

    def _costs(self, rows: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """Squared distance of encoded rows to what stands for them, in units of the scale."""
        answer = self._answer
        codes = np.empty((len(rows), 0)) if answer.bases is None else answer.encode(rows, leaves)
        away = (rows - answer.decode(leaves, codes)) / answer.scale
        return np.asarray(np.square(away).sum(axis=1))

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the total cost of the rows: their squared distances to what stands for them."""
        rows = np.asarray(self._rows_to_predict(X), dtype=np.float64)
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        return -float(weight @ self._costs(rows, self.tree_.apply(rows)))

    def rules(self, X: ArrayLike, max_conditions: int = 3) -> list[ClusterRule]:
        """Every leaf as a few conditions on single columns, the closest that were found.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, columns)
            Rows to find the conditions by, and to say how well they hold.
        max_conditions : int, default 3
            Conditions of one rule at most.

        Returns
        -------
        list of ClusterRule
            One for each leaf, to be printed or taken apart.
        """
        check_is_fitted(self, self._fitted)
        return describe_clusters(self.model_, X, max_conditions)

    @property
    def inertia_(self) -> float:
        """Total cost of the training rows."""
        return self.model_.facts.scores["inertia"]

    @property
    def history_(self) -> dict[str, list[float]]:
        """Cost after growing the tree and after every pass of refinement."""
        return self.model_.facts.scores["history"]

    @property
    def n_iter_(self) -> int:
        """Passes of refinement."""
        return self.model_.facts.scores["n_iter"]


def _spread(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Deviation of every column, 1 where there is none."""
    unit = squarable_units(X)
    rows = X / unit
    away = np.square(rows - np.average(rows, axis=0, weights=weight))
    spread = np.sqrt(np.average(away, axis=0, weights=weight)) * unit
    return np.where(spread > LEAST_SCALE, spread, 1.0)


def _importance(
    tree: ObliqueTree, X: np.ndarray, weight: np.ndarray, scale: np.ndarray, leaves: np.ndarray
) -> np.ndarray:
    """What splits lower the squared distances by, shared among columns by weight times spread."""
    count = np.bincount(leaves, weight, minlength=tree.n_leaves)
    rows = X / scale
    sums = np.zeros((tree.n_leaves, X.shape[1]))
    np.add.at(sums, leaves, rows * weight[:, None])
    mass = np.concatenate(tree.totals(count))
    total = np.concatenate(tree.totals(sums))
    mean = total / np.maximum(mass, 1e-300)[:, None]
    found = np.zeros(X.shape[1])
    spread = moments(rows, weight)[1]
    for node in range(tree.n_nodes):
        low, high = (
            int(side[node]) if side[node] >= 0 else tree.n_nodes + ~int(side[node])
            for side in (tree.left, tree.right)
        )
        gain = mass[low] * mass[high] / max(mass[node], 1e-300)
        gain *= float(np.square(mean[low] - mean[high]).sum())
        share = np.abs(tree.weights[node] * scale) * spread
        if share.sum() > 0:
            found += gain * share / share.sum()
    return found / found.sum() if found.sum() > 0 else found
