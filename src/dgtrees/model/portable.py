"""What an export has to know about a model, whichever class it is of.

Every model that can be exported is a forest (of one tree, mostly), with a way to encode rows before
and a way to read answers after. `portable` finds these three in estimators, bandit policies and
bare trees; the formats themselves are written by `onnx`, `c`, `text` and `dot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from dgtrees.errors import StateError
from dgtrees.tables.encoder import Column
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["CLASSES", "SCORES", "VALUES", "Portable", "bounds_of", "portable"]

CLASSES, SCORES, VALUES = "classes", "scores", "values"
"""What a model's outputs are: class scores or shares, scores of actions, or values."""


@dataclass(frozen=True)
class Portable:
    """A fitted model, taken apart.

    Parameters
    ----------
    kind : str
        Name of its class.
    forest : ObliqueForest
        Its trees, numbered through, and how they are combined; bounds included.
    columns : tuple of Column, optional
        How rows are encoded; None where rows go to the tree as they are.
    answer : {"classes", "scores", "values"}
    classes : ndarray, optional
        Labels, or numbers of actions, in the order of the outputs.
    alone : bool
        Whether it is one tree and not a forest: leaves are then one number a row.
    feature_scale, leaf_rows : ndarray, optional
        Spread of every encoded column and training rows of every leaf, if known.
    """

    kind: str
    forest: ObliqueForest
    columns: tuple[Column, ...] | None
    answer: str
    classes: np.ndarray | None
    alone: bool
    feature_scale: np.ndarray | None = None
    leaf_rows: np.ndarray | None = None

    @property
    def linear(self) -> bool:
        """Whether leaves are linear functions."""
        return self.forest.trees[0].leaf_weights is not None

    @property
    def n_inputs(self) -> int:
        """Columns of a row as users have it."""
        return self.forest.n_features if self.columns is None else len(self.columns)

    @property
    def encoded_names(self) -> list[str]:
        """Names of the encoded columns."""
        if self.columns is None:
            return [f"x{j}" for j in range(self.forest.n_features)]
        return [name for column in self.columns for name in column.names()]

    @property
    def class_names(self) -> list[str] | None:
        """Labels as text; None where outputs are not probabilities of classes."""
        if self.answer != CLASSES or self.classes is None:
            return None
        return [str(label) for label in self.classes.tolist()]

    @property
    def scores_to_shares(self) -> bool:
        """Whether probabilities are the soft-max of the outputs, and not the outputs."""
        return self.answer == CLASSES and self.alone

    @property
    def leaf_shares(self) -> np.ndarray:
        """Class probabilities of every constant leaf, as `predict_proba` gives them."""
        return np.asarray(softmax(self.forest._answers, axis=1))

    def named_features(self, names: Sequence[str] | None) -> list[str]:
        """Names of the encoded columns, or the ones a caller gives instead."""
        if names is None:
            return self.encoded_names
        if len(names) != self.forest.n_features:
            raise ValueError(
                f"feature_names must name the {self.forest.n_features} encoded columns, got "
                f"{len(names)} names: leave it out to have the model's own"
            )
        return [str(name) for name in names]


def portable(model: Any) -> Portable:
    """Take a fitted model apart.

    Raises
    ------
    StateError
        If the model has not learnt anything yet.
    TypeError
        If it is no tree, forest or policy of this library.
    """
    kind = type(model).__name__
    if isinstance(model, ObliqueTree):
        return Portable(kind, ObliqueForest((model,)), None, VALUES, None, alone=True)
    if isinstance(model, ObliqueForest):
        return Portable(kind, model, None, VALUES, None, alone=False)
    forest, tree = getattr(model, "forest_", None), None
    if not isinstance(forest, ObliqueForest):
        tree = getattr(model, "tree_", None)
        if isinstance(tree, ObliqueTree):
            forest = ObliqueForest((tree,), "mean", bounds_of(model, tree))
    if not isinstance(forest, ObliqueForest):
        if getattr(model, "_fitted", None) in ("tree_", "forest_"):  # what fit will give it
            raise StateError(f"{kind} has learnt nothing yet to export: call fit first")
        raise TypeError(
            "a model must be a hard tree, forest or tree policy of dgtrees to be exported, got "
            f"{kind}: train one, or keep this one in Python"
        )
    encoder = getattr(model, "_encoder", None) or getattr(model, "encoder", None)
    answer, classes = VALUES, None
    if hasattr(model, "classes_"):
        answer, classes = CLASSES, model.classes_
    elif hasattr(model, "n_actions"):
        answer, classes = SCORES, np.arange(model.n_actions)
    return Portable(
        kind,
        forest,
        None if encoder is None else tuple(encoder.columns),
        answer,
        classes,
        alone=tree is not None,
        feature_scale=getattr(model, "encoded_feature_scale_", None),
        leaf_rows=getattr(model, "leaf_rows_", None),
    )


def bounds_of(model: Any, tree: ObliqueTree) -> Any:
    """Between which answers are clipped, if they are."""
    if hasattr(model, "low") and hasattr(model, "high"):
        return np.array([model.low]), np.array([model.high])
    return getattr(model, "_target_range", None) if tree.leaf_weights is not None else None
