"""DGTAutoencoder: a hard oblique tree with a short linear code in every leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.unlabelled_base import UnlabelledEstimator, UnlabelledParameters

__all__ = ["DGTAutoencoder"]


@dataclass(eq=False, repr=False)
class _Parameters(UnlabelledParameters):
    n_leaves: int = 64
    rank: int = 4


@dataclass(eq=False, repr=False)
class DGTAutoencoder(UnlabelledEstimator, _Parameters):
    """Local principal components in the leaves of a hard oblique tree.

    A row becomes the number of its leaf and `rank` numbers, its place along the leaf's principal
    directions. The tree is fitted to the error of the reconstruction: rows go, as far as planes can
    send them there, to the leaf that gives them back best.

    Parameters
    ----------
    n_leaves : int, default 64
        As many as there are distinct rows, where these are fewer.
    rank : int, default 4
        Numbers of a code, besides the leaf.
    standardize, balance, n_init, max_iter, encoder, random_state
        As in `DGTClusterer`.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree; its leaves hold their own numbers.
    means_ : ndarray of shape (n_leaves, encoded columns)
        What a code of zeros stands for in every leaf, in the units of X.
    components_ : ndarray of shape (n_leaves, rank, encoded columns)
        Directions of every leaf; those of a leaf of too few rows are 0.
    labels_ : ndarray of shape (rows,)
        Leaves of the training rows.
    inertia_ : float
        Sum of the squared errors of the training rows.
    history_, n_iter_, n_features_in_, feature_names_in_
        As in `DGTClusterer`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTAutoencoder
    >>> X = load_iris().data
    >>> coder = DGTAutoencoder(n_leaves=4, rank=1, random_state=0).fit(X)
    >>> leaves, codes = coder.encode(X)
    >>> coder.decode(leaves, codes).shape
    (150, 4)
    >>> bool(coder.reconstruction_error(X) < 0.2)  # of a variance of 4.5
    True
    """

    _counts = ("n_leaves", "rank")

    @property
    def _rank(self) -> int:
        return int(self.rank)

    def _leaves_for(self, distinct: int, rows: int) -> int:
        return min(distinct, int(self.n_leaves))

    def encode(self, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Leaf of every row (rows,), and its code there (rows, rank)."""
        rows = np.asarray(self._rows_to_predict(X), dtype=np.float64)
        leaves = self.tree_.apply(rows)
        return leaves, self._answer.encode(rows, leaves)

    def decode(self, leaves: ArrayLike, codes: ArrayLike) -> np.ndarray:
        """Encoded rows that leaves and codes stand for, (rows, encoded columns)."""
        count, rank, _ = self.components_.shape
        leaves, codes = np.asarray(leaves), np.asarray(codes, dtype=np.float64)
        if leaves.ndim != 1 or codes.shape != (len(leaves), rank):
            raise ValueError(
                f"decode takes leaves (rows,) and codes (rows, {rank}), got shapes "
                f"{leaves.shape} and {codes.shape}: give what encode returned"
            )
        whole = leaves.astype(np.int64)
        if len(leaves) and ((whole != leaves).any() or whole.min() < 0 or whole.max() >= count):
            raise ValueError(f"leaves must be whole numbers from 0 to {count - 1}, got others")
        return self._answer.decode(whole, codes)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Leaf and code of every row side by side, (rows, 1 + rank)."""
        leaves, codes = self.encode(X)
        return np.column_stack([leaves, codes])

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """`decode` for what `transform` gave."""
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have {self._n_features_out} columns, the leaf and its code, got shape "
                f"{table.shape}: give what transform returned"
            )
        return self.decode(table[:, 0], table[:, 1:])

    def reconstruction_error(self, X: ArrayLike) -> float:
        """Mean squared length of what the reconstruction of a row misses."""
        rows = np.asarray(self._rows_to_predict(X), dtype=np.float64)
        return float(self._costs(rows, self.tree_.apply(rows)).mean())

    @property
    def means_(self) -> np.ndarray:
        """Centres of the leaves."""
        return self._answer.centers

    @property
    def components_(self) -> np.ndarray:
        """Directions of the leaves."""
        assert self._answer.bases is not None
        return self._answer.bases

    @property
    def _n_features_out(self) -> int:
        return 1 + self.components_.shape[1]
