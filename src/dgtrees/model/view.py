"""One view of every model, for whoever draws or explains it.

An estimator, a forest, a bandit policy and a bare `ObliqueTree` know different things about their
features. `view` gathers what there is; explanations and pictures need not care who it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtrees.errors import StateError
from dgtrees.model.portable import bounds_of
from dgtrees.tables.encoder import Encoder, columns_of, is_frame
from dgtrees.tables.frames import is_numeric
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.inputs import checked_rows
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ModelView", "means_below", "position", "view"]


@dataclass(frozen=True)
class ModelView:
    """Trees, and what is known about their inputs and outputs.

    Attributes
    ----------
    names
        Input columns, as the user knows them.
    encoded_names
        Columns that the trees' weights refer to.
    source
        For every encoded column, the number of the input column it comes from.
    classes
        Names of the classes, or None where outputs are values.
    scale
        Spread of every encoded column in training; None if nobody knows.
    leaf_rows
        For every tree, training rows of every leaf; None if nobody knows.
    typical
        A typical encoded row: the median of every number, no gaps, and of a category all values
        in equal shares. None for a bare tree.
    encoder
        How rows are encoded; None where rows go to the tree as they are.
    forest
        How answers of the trees are combined; None where there is a tree and no forest.
    bounds
        Between which the values of a single tree are clipped; None if they are not.
    """

    model: Any
    trees: tuple[ObliqueTree, ...]
    names: list[str]
    encoded_names: list[str]
    source: np.ndarray
    classes: list[str] | None
    scale: np.ndarray | None
    leaf_rows: tuple[np.ndarray, ...] | None
    typical: np.ndarray | None
    encoder: Encoder | None = None
    forest: ObliqueForest | None = None
    bounds: tuple[np.ndarray, np.ndarray] | None = None

    def one_tree(self, what: str) -> ObliqueTree:
        """The tree, for those that can speak of a single one only."""
        if len(self.trees) != 1:
            raise TypeError(
                f"{what} takes a model of one tree, got {type(self.model).__name__} of "
                f"{len(self.trees)}: use contributions(), or one of its trees"
            )
        return self.trees[0]

    @property
    def spread(self) -> np.ndarray:
        """`scale`, or ones where it is not known."""
        return np.ones(len(self.encoded_names)) if self.scale is None else self.scale

    def encode(self, X: Any) -> np.ndarray:
        """Rows as the trees take them."""
        if hasattr(self.model, "_rows_to_predict"):
            rows = self.model._rows_to_predict(X)
        elif self.encoder is not None:
            rows = self.model._rows(X)
        else:
            rows = checked_rows(X, self.trees[0].n_features)
        return np.asarray(rows, dtype=np.float64)

    def said(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs of a tree (rows, outputs) as they enter the model's answer."""
        if self.forest is not None:
            return self.forest._said(outputs)
        return outputs if self.bounds is None else np.clip(outputs, *self.bounds)

    def reference(self, background: Any) -> np.ndarray:
        """The encoded row to compare with: the background's mean, or the typical row."""
        if background is not None:
            return self.encode(background).mean(axis=0)
        if self.typical is None:
            raise ValueError(
                f"{type(self.model).__name__} does not know what a typical row is, got "
                "background=None: give some training rows as background"
            )
        return self.typical

    def values(self, X: Any) -> np.ndarray:
        """Input values (rows, columns): floats where all are numbers, objects otherwise."""
        found = columns_of(X)
        if self.encoder is not None and is_frame(X) and not hasattr(self.model, "_rows_to_predict"):
            by_name = dict(found)  # policies take columns in any order, and beside others
            found = [(name, by_name[name]) for name in self.names]
        columns = [values for _, values in found]
        if all(is_numeric(values) for values in columns):
            return np.stack(columns, axis=1).astype(np.float64)
        return np.stack([values.astype(object) for values in columns], axis=1)

    def fold(self, parts: np.ndarray) -> np.ndarray:
        """Sums (rows, ..) over the encoded columns (rows, encoded, ..) of every input column."""
        folded = np.zeros((len(self.names), parts.shape[0], *parts.shape[2:]))
        np.add.at(folded, self.source, np.swapaxes(parts, 0, 1))
        return np.swapaxes(folded, 0, 1)

    def spread_or(self, given: Any) -> np.ndarray:
        """The spread of every encoded column that a caller gives, or `spread`."""
        if given is None:
            return self.spread
        return _of_length(given, "feature_scale", len(self.encoded_names), "columns of the tree")

    def leaf_rows_or(self, given: Any) -> np.ndarray | None:
        """Training rows of every leaf of the first tree that a caller gives, or those known."""
        if given is None:
            return None if self.leaf_rows is None else self.leaf_rows[0]
        return _of_length(given, "leaf_rows", self.trees[0].n_leaves, "leaves of the tree")

    def class_names(self, given: Sequence[Any] | None) -> list[str] | None:
        """Names of classes to show, those given or those known; checked against the outputs."""
        if given is None:
            return self.classes
        names = [str(name) for name in given]
        if len(names) != self.trees[0].n_outputs:
            raise ValueError(
                f"class_names must name the {self.trees[0].n_outputs} outputs of the model, "
                f"got {len(names)} names"
            )
        return names


def _of_length(given: Any, name: str, length: int, what: str) -> np.ndarray:
    numbers = np.asarray(given, dtype=float)
    if numbers.shape != (length,):
        raise ValueError(
            f"{name} must be {length} numbers, for the {what}, got shape {numbers.shape}"
        )
    return numbers


def view(model: Any) -> ModelView:
    """What is known about an estimator, forest, policy or tree."""
    if isinstance(model, ObliqueTree):
        return _without_encoder(model, (model,), None)
    if isinstance(model, ObliqueForest):
        return _without_encoder(model, model.trees, model)
    forest = getattr(model, "forest_", None)
    trees: tuple[Any, ...] = getattr(forest, "trees", None) or (getattr(model, "tree_", None),)
    if not all(isinstance(tree, ObliqueTree) for tree in trees):
        if getattr(model, "_fitted", None) in ("tree_", "forest_"):  # what fit will give it
            raise StateError(f"{type(model).__name__} has no tree yet: fit it first")
        raise TypeError(
            f"model must be an estimator, policy or tree of dgtrees, got {type(model).__name__}"
        )
    encoder = getattr(model, "_encoder", None) or getattr(model, "encoder", None)
    if encoder is None:
        return _without_encoder(model, trees, forest)
    classes = getattr(model, "classes_", None)
    rows = getattr(model, "leaf_rows_", None)
    if rows is not None:
        rows = (rows,) if forest is None else tuple(rows)
    return ModelView(
        model,
        trees,
        [column.name for column in encoder.columns],
        encoder.feature_names,
        encoder.source,
        None if classes is None else [str(c) for c in classes.tolist()],
        getattr(model, "encoded_feature_scale_", None),
        rows,
        np.concatenate([column.typical for column in encoder.columns]),
        encoder,
        forest,
        bounds_of(model, trees[0]) if forest is None else None,
    )


def _without_encoder(
    model: Any, trees: tuple[ObliqueTree, ...], forest: ObliqueForest | None
) -> ModelView:
    """A bare tree or forest, or a policy that takes rows of numbers."""
    names = [f"x{j}" for j in range(trees[0].n_features)]
    bounds = bounds_of(model, trees[0]) if forest is None else None
    source = np.arange(len(names))
    return ModelView(
        model, trees, names, names, source, None, None, None, None, None, forest, bounds
    )


def position(tree: ObliqueTree, child: int) -> int:
    """A child pointer as an index among nodes, then leaves."""
    return child if child >= 0 else tree.n_nodes + ~child


def means_below(tree: ObliqueTree, at_leaf: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Mean output below every node, then of every leaf: (nodes + leaves, outputs).

    Leaves count by their rows `at_leaf`; below a node that no row came to, both sides count the
    same.
    """
    mean = np.concatenate([np.zeros((tree.n_nodes, outputs.shape[1])), outputs])
    mass = np.concatenate(tree.totals(np.asarray(at_leaf, dtype=float)))
    for node in range(tree.n_nodes - 1, -1, -1):
        low, high = position(tree, tree.left[node]), position(tree, tree.right[node])
        share = mass[high] / mass[node] if mass[node] > 0 else 0.5
        mean[node] = (1 - share) * mean[low] + share * mean[high]
    return mean
