"""DGTSelfTrainingClassifier and DGTSelfTrainingRegressor: few labels, many unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.regressor import DGTRegressor
from dgtrees.estimators.self_training_base import SelfTraining
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.estimators.unlabelled import are_labelled, have_values

__all__ = ["DGTSelfTrainingClassifier", "DGTSelfTrainingRegressor"]


@dataclass(eq=False, repr=False)
class DGTSelfTrainingClassifier(ClassTarget, SelfTraining):
    """Hard oblique decision tree for classes from few labels and many unlabelled rows.

    Labels spread over a graph of nearest neighbours, and from models of the labelled rows; which
    graph, how much each counts, and whether unlabelled rows are used at all is chosen on labels
    that were held out. One tree learns the class shares of all rows, and takes turns with the
    graph: rows agree with their labels, their neighbours and the tree, and the tree is trained on
    what they have agreed on.

    Parameters
    ----------
    max_depth : int or "auto", default "auto"
        Height of the tree: at most 2^max_depth leaves. "auto" is a leaf for about 16 rows and at
        most 8, less with linear leaves; and the tree of the labelled rows alone, chosen as
        `DGTClassifier` does, is kept where it does better on held-out labels.
    leaf : {"auto", "constant", "linear"}, default "auto"
        What a leaf holds: class scores, or class scores that are linear in the features. "auto"
        tries both, where max_depth is "auto" too, and else means constant ones.
    n_neighbors : int or "auto", default "auto"
        Neighbours of every row in the graph; "auto" tries 5, 15 and 50, and 0 uses no graph.
    n_rounds : int, default 2
        How often the tree is trained; all but the first time on targets that agree with it.
    max_epochs : int, optional
        Passes over the rows every time.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    n_jobs : int, optional
        Threads to train with, -1 for all cores; None for one. The tree is the same for any number.
    random_state : int, RandomState or None
        Seed. The same seed gives the same tree on any number of threads.
    verbose : int, default 0
        1 shows what was tried.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree itself, on unscaled features.
    classes_ : ndarray of shape (classes,)
    transduction_ : ndarray of shape (rows, classes)
        Class shares of the training rows that the tree has learnt; those of labelled rows are 0
        and 1.
    chosen_ : SpreadingChoice
        What was tried, its loss on held-out labels, and what was kept. Not there if all rows have
        a label.
    supervised_ : DGTClassifier
        The tree of the labelled rows alone, where one was trained to compare with.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
    n_iter_ : int
        Passes over the rows of the last training.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from dgtrees import DGTSelfTrainingClassifier
    >>> X, truth = make_moons(300, noise=0.08, random_state=0)
    >>> y = np.where(np.arange(300) < 8, truth, -1)  # 8 labels
    >>> clf = DGTSelfTrainingClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> bool(clf.score(X, truth) > 0.8)
    True
    """

    _alone = DGTClassifier

    def _mark(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return are_labelled(y)


@dataclass(eq=False, repr=False)
class DGTSelfTrainingRegressor(ValueTarget, SelfTraining):
    """Hard oblique decision tree for one or several numbers from few labels and many other rows.

    As `DGTSelfTrainingClassifier`, for values: an unlabelled row has the target NaN.

    Parameters
    ----------
    max_depth, leaf, n_neighbors, n_rounds, max_epochs, encoder, n_jobs, random_state, verbose
        As in `DGTSelfTrainingClassifier`.

    Attributes
    ----------
    transduction_ : ndarray of shape (rows,) or (rows, outputs)
        Values of the training rows that the tree has learnt; those of labelled rows as given.
    tree_, chosen_, supervised_, n_features_in_, feature_names_in_, feature_importances_, n_iter_
        As in `DGTSelfTrainingClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from dgtrees import DGTSelfTrainingRegressor
    >>> X, truth = load_diabetes(return_X_y=True)
    >>> y = np.where(np.arange(len(truth)) < 60, truth, np.nan)  # 60 labels
    >>> reg = DGTSelfTrainingRegressor(random_state=0).fit(X, y)
    >>> bool(reg.score(X, truth) > 0.3)
    True
    """

    _alone = DGTRegressor

    def _mark(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(y), have_values(y)

    def _shown(self, soft: np.ndarray) -> np.ndarray:
        return soft[:, 0] if self._answer.single_output else soft
