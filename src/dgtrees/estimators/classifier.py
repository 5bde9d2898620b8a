"""DGTClassifier: a hard oblique tree for classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.estimators.target_types import ClassTarget
from dgtrees.model.answer import Classes

__all__ = ["DGTClassifier"]


@dataclass(eq=False, repr=False)
class DGTClassifier(ClassTarget, DGTEstimator):
    """Hard oblique decision tree for classification, trained by gradient descent.

    Parameters
    ----------
    max_depth : int or "auto", default "auto"
        "auto" chooses what the tree is by held-out rows, from a linear model to hundreds of leaves,
        and then trains it on all rows: see `chosen_`. A number is the height of a complete tree: at
        most 2^max_depth leaves, and max_depth dot products a prediction.
    max_leaves : int, optional
        Most leaves that max_depth="auto" may choose; it chooses up to 4096.
    leaf : {"auto", "constant", "linear"}, default "auto"
        What a leaf holds: class scores, or class scores that are linear in the features. "auto"
        is chosen with the rest where max_depth is, and constant for a given height.
    recipe : {"default", "paper"} or Recipe, default "default"
        How it is trained. The parameters below replace single entries of the recipe.
    n_layers : int, optional
        Linear layers during training (L in the paper); the finished tree has none.
    hidden : int, tuple of int or "paper", optional
        Widths of those layers.
    loss : callable(prediction, target), optional
        A loss of your own on tensors of class scores and class numbers.
    max_epochs, batch_size, learning_rate, l1, l2 : optional
        Passes over the data, rows a step, the nodes' learning rate, weight penalties.
    validation_fraction : float, optional
        Share of the rows to hold out where no X_val is given.
    patience : int, optional
        Stop after this many epochs without a better validation score.
    class_weight : dict, "balanced" or None
        Weights of classes: how much an error on a row of each matters. They decide which class is
        predicted, that of the largest probability times weight; probabilities stay those of the
        rows.
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
        The tree itself, on unscaled features.
    classes_ : ndarray of shape (classes,)
    chosen_ : Choice
        What max_depth="auto" has tried, how it scored on held-out rows, and what was kept.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
    history_ : dict of list
        Loss and, with validation rows, val_loss and val_accuracy, an entry an epoch.
    n_iter_ : int
        Epochs trained.
    best_score_ : float or None
        Best validation accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DGTClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    _default_height = 8

    _: KW_ONLY
    class_weight: str | Mapping[Any, float] | None = None

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """One pass over a batch of rows, going on from what has been learnt.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call fixes columns, categories and scales. After
            a `fit` that chose the tree, which is finished, training begins anew.
        classes : array-like, required in the first call
            All classes there will ever be.
        """
        if not hasattr(self, "tree_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            if len(np.unique(classes)) < 2:
                raise ValueError(f"classes must name at least 2 classes, got {classes!r}")
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must stay {self.classes_.tolist()} between calls to partial_fit, "
                f"got {np.unique(classes).tolist()}"
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once, which partial_fit "
                "never sees: give a dict of weights"
            )
        with unchanged_on_error(self):
            if classes is not None:
                self._answer = Classes(np.unique(classes))
            self._partial_fit(X, y, sample_weight)
        return self
