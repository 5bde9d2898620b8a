"""DGTClusterer: a hard oblique tree whose leaves are clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from dgtrees.estimators.sklearn_bases import ClusterMixin
from dgtrees.estimators.unlabelled_base import UnlabelledEstimator, UnlabelledParameters

__all__ = ["DGTClusterer"]


@dataclass(eq=False, repr=False)
class _Parameters(UnlabelledParameters):
    n_clusters: int = 8


@dataclass(eq=False, repr=False)
class DGTClusterer(ClusterMixin, UnlabelledEstimator, _Parameters):
    """k-means whose clusters are the leaves of a hard oblique tree.

    The tree has exactly `n_clusters` leaves and sends a row to its cluster in a few dot products
    (those of its path), where k-means computes as many distances as there are clusters. It is
    fitted to the squared distance of the rows to the means of their leaves, starting from k-means,
    and never does worse from one accepted step to the next.

    Parameters
    ----------
    n_clusters : int, default 8
        Exactly as many leaves, unless there are fewer distinct rows: then a warning says so.
    standardize : bool, default False
        Whether columns are divided by their deviation before distances are taken. Without it, as in
        k-means, columns of large numbers decide: set it where columns have different units.
    balance : float, default 2
        How much cuts that halve the rows are preferred. Lower values give a lower cost and a deeper
        tree, so that more dot products assign a row; 0 looks at cost only.
    n_init : int, default 1
        Trees to grow from k-means' centres; the one of the lowest cost on the training rows is
        kept.
    max_iter : int, default 10
        Most passes of refinement over all nodes.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    random_state : int, RandomState or None
        Seed. The same seed gives the same tree.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree; its leaves hold their own numbers, which are those of the clusters.
    cluster_centers_ : ndarray of shape (n_clusters, encoded columns)
        Means of the clusters, in the units of X.
    labels_ : ndarray of shape (rows,)
        Clusters of the training rows.
    inertia_ : float
        Sum of the squared distances of the training rows to the centres of their clusters.
    history_ : dict of list
        Cost after growing the tree and after every pass.
    n_iter_ : int
        Passes of refinement.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTClusterer
    >>> X = load_iris().data
    >>> clusters = DGTClusterer(n_clusters=3, random_state=0).fit(X)
    >>> sorted(set(clusters.predict(X).tolist()))
    [0, 1, 2]
    """

    _counts = ("n_clusters",)

    def _leaves_for(self, distinct: int, rows: int) -> int:
        if rows < self.n_clusters:
            raise ValueError(
                f"n_clusters must be at most the number of rows, got n_samples={rows} for "
                f"n_clusters={self.n_clusters}: ask for fewer clusters"
            )
        if distinct < self.n_clusters:
            warnings.warn(
                f"rows must differ to be told apart, got {distinct} distinct ones for "
                f"n_clusters={self.n_clusters}: there are {distinct} clusters",
                ConvergenceWarning,
                stacklevel=4,
            )
        return min(distinct, int(self.n_clusters))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Cluster of every row, (rows,)."""
        return self.apply(X)

    def predict_row(self, x: ArrayLike) -> int:
        """Cluster of one row of numbers, `predict([x])[0]` in about a microsecond."""
        return int(self._answer.predict(self._row_outputs(x)))

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Distances of every row to all centres, (rows, clusters)."""
        rows = np.asarray(self._rows_to_predict(X), dtype=np.float64)
        return self._answer.distances(rows)

    @property
    def cluster_centers_(self) -> np.ndarray:
        """Means of the clusters, (clusters, encoded columns)."""
        return self._answer.centers

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
