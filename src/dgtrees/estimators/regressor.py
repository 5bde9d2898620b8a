"""DGTRegressor: a hard oblique tree for one or several numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.estimators.target_types import ValueTarget

__all__ = ["DGTRegressor"]


@dataclass(eq=False, repr=False)
class DGTRegressor(ValueTarget, DGTEstimator):
    """Hard oblique decision tree for regression, trained by gradient descent.

    Parameters
    ----------
    max_depth : int or "auto", default "auto"
        "auto" chooses what the tree is by held-out rows, from a linear model to hundreds of leaves,
        and then trains it on all rows: see `chosen_`. A number is the height of a complete tree: at
        most 2^max_depth leaves, and max_depth dot products a prediction.
    max_leaves : int, optional
        Most leaves that max_depth="auto" may choose; it chooses up to 4096.
    leaf : {"auto", "constant", "linear"}, default "auto"
        What a leaf holds: values, or values that are linear in the features. "auto" is chosen with
        the rest where max_depth is, and constant for a given height. Linear predictions are kept
        within the range of the training targets, so that they do not run away.
    loss : {"squared", "huber", "absolute"} or callable(prediction, target), optional
        Loss on standardised targets; squared error where None.
    recipe : {"default", "paper"} or Recipe, default "default"
        How it is trained. The parameters below replace single entries of the recipe.
    n_layers : int, optional
        Linear layers during training (L in the paper); the finished tree has none.
    hidden : int, tuple of int or "paper", optional
        Widths of those layers.
    max_epochs, batch_size, learning_rate, l1, l2 : optional
        Passes over the data, rows a step, the nodes' learning rate, weight penalties.
    validation_fraction : float, "auto" or None, default "auto"
        Share of the rows to hold out, where no X_val is given, to choose the best epoch by.
        "auto" is 0.15 from 100 rows on: without, trees of noisy targets are trained too long.
    patience : int, optional
        Stop after this many epochs without a better validation score.
    refine : {"polish"}, optional
        What follows gradient training. "polish": alternating passes over nodes and leaves, kept
        where validation rows do not get worse by it.
    max_columns : int, optional
        Most columns that a node weighs: three make rules that are read at a glance. A tree of a
        given height is trained with all columns, and then chooses among them node by node.
    warm_start : bool, default False
        Let the next fit go on from this one's weights.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    n_jobs : int, optional
        Threads to train with, -1 for all cores; None for one. The tree is the same for any number.
    random_state : int, RandomState or None
        Seed. The same seed gives the same tree on any number of threads.
    verbose : int, default 0
        1 shows a progress bar, and what max_depth="auto" has tried.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree itself, on unscaled features and targets.
    chosen_ : Choice
        What max_depth="auto" has tried, how it scored on held-out rows, and what was kept.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
    history_ : dict of list
        Loss and, with validation rows, val_loss and val_rmse (standardised), an entry an epoch.
    n_iter_ : int
        Epochs trained.
    best_score_ : float or None
        Best validation RMSE, in standardised units.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dgtrees import DGTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = DGTRegressor(max_depth=3, random_state=0).fit(X, y)
    >>> bool(reg.score(X, y) > 0.4)
    True
    """

    _default_height = 6

    _: KW_ONLY
    validation_fraction: float | str | None = "auto"

    def _held_out_share(self, rows: int) -> float | None:
        if self.validation_fraction == "auto":
            return 0.15 if rows >= 100 and not self._chooses else None
        return super()._held_out_share(rows)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass over a batch of rows, going on from what has been learnt.

        The first call fixes columns, categories and scales. After a `fit` that chose the tree,
        which is finished, training begins anew.
        """
        with unchanged_on_error(self):
            if not hasattr(self, "tree_"):
                self._learn_target(y)
            rows = self._read_target(y)
            assert self._answer.bounds is not None
            low, high = self._answer.bounds
            low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
            self._answer = replace(self._answer, bounds=(low, high))
            self._partial_fit(X, y, sample_weight)
        return self
