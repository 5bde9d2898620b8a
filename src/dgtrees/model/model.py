"""Model: what is finished. Everything that predicts, explains, draws, saves or exports takes one.

A forest that routes, what its outputs mean, how rows are encoded before, and what is known about
training. Trainers and policies end in one; it needs neither torch nor scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dgtrees.errors import StateError
from dgtrees.model import file as model_file
from dgtrees.model.answer import Answer, Classes, Values
from dgtrees.model.bag_classes import outputs_of_bags
from dgtrees.model.clusters import Clusters
from dgtrees.model.facts import Facts
from dgtrees.model.header import UNSAID, refusing
from dgtrees.model.reading import encode_row, encode_table, read_columns
from dgtrees.tables.encoder import Encoder
from dgtrees.tables.encoding import Column
from dgtrees.tables.frames import is_frame, is_numeric
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.inputs import check_row, check_rows
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["HasModel", "Model", "ModelLike", "forest_of", "model_of"]


@dataclass(frozen=True, eq=False)
class Model:
    """A finished model.

    Parameters
    ----------
    forest : ObliqueForest
        The trees, how they are combined, and between which bounds their values are kept.
    answer : Classes, Values, Actions or Clusters
        What the outputs mean.
    encoder : Encoder, optional
        How rows are encoded; without one they go to the trees as they are.
    alone : bool, default False
        Whether it is a tree, and not a forest that happens to have one: leaves are then one number
        per row.
    kind : str, default "Model"
        What made it, to be shown.
    facts : Facts

    Examples
    --------
    >>> tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[0.0, 2.0], [1.0, 0.0]])
    >>> model = Model(ObliqueForest([tree]), Classes(np.array(["no", "yes"])), alone=True)
    >>> model.predict([[0.0, 1.0], [1.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.apply([[0.0, 1.0]]), model.predict_row([1.0, 0.0]).item()
    (array([0], dtype=int32), 'no')
    """

    forest: ObliqueForest
    answer: Answer = field(default_factory=Values)
    encoder: Encoder | None = None
    alone: bool = False
    kind: str = "Model"
    facts: Facts = field(default_factory=Facts)

    # Answers to rows as users have them

    def predict(self, X: Any, bags: Any = None) -> np.ndarray:
        """Answers for every row of a frame or array, or classes of its `bags`."""
        return np.asarray(self.answer.predict(outputs_of_bags(self, X, bags)))

    def predict_proba(self, X: Any, bags: Any = None) -> np.ndarray:
        """Class probabilities of every row, (rows, classes), or of every bag."""
        if not isinstance(self.answer, Classes):
            raise TypeError(
                f"predict_proba is for classes, this {self.kind} answers otherwise: use predict"
            )
        return self.probabilities(outputs_of_bags(self, X, bags))

    def predict_row(self, x: ArrayLike) -> Any:
        """Answer for one row of numbers, `predict([x])[0]` in a few microseconds."""
        # A copy: a tree may answer with a view of its leaf, which nobody may write to.
        return self.answer.predict(self.row_outputs(self._encode_row(x)).copy())

    def outputs(self, X: Any) -> np.ndarray:
        """Scores, shares of classes or values of every row, (rows, outputs)."""
        return self.encoded_outputs(self.encode(X))

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of every row: (rows,) or, of a forest, (rows, trees)."""
        return self.leaves(self.encode(X))

    # Answers to encoded rows

    def encoded_outputs(self, rows: np.ndarray) -> np.ndarray:
        """`outputs` of rows that are encoded already."""
        return self._bounded(self._tree.predict(rows)) if self.alone else self.forest.predict(rows)

    def row_outputs(self, row: np.ndarray) -> np.ndarray:
        """Outputs of one encoded row, (outputs,); may be a view of a leaf."""
        if self.alone:
            return self._bounded(self._tree.predict_row(row))
        return self.forest.predict_row(row)

    def _bounded(self, outputs: np.ndarray) -> np.ndarray:
        bounds = self.forest.bounds
        return outputs if bounds is None else np.clip(outputs, *bounds)

    def leaves(self, rows: np.ndarray) -> np.ndarray:
        """`apply` for rows that are encoded already."""
        return (self._tree if self.alone else self.forest).apply(rows)

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Class probabilities from outputs, which are scores or shares."""
        if self.scores_to_shares:
            return np.asarray(softmax(outputs, axis=-1))
        return self.answer.sharpened(outputs) if isinstance(self.answer, Classes) else outputs

    @property
    def scores_to_shares(self) -> bool:
        """Whether probabilities are the soft-max of the outputs, and not the outputs."""
        return isinstance(self.answer, Classes) and self.forest.combine in ("mean", "sum")

    @property
    def shares_by_leaf(self) -> bool:
        """Whether every leaf has its class probabilities, which need not be computed."""
        return self.scores_to_shares and not self.linear and self.forest.combine == "mean"

    @property
    def leaf_shares(self) -> np.ndarray:
        """Class probabilities of every constant leaf, as `predict_proba` gives them."""
        return np.asarray(softmax(self.forest._answers, axis=1))

    # Rows

    def encode(self, X: Any) -> np.ndarray:
        """Rows as the trees take them, (rows, encoded columns)."""
        if self.encoder is None:
            if is_frame(X):
                columns = read_columns(X, self.forest.n_features, self.facts.feature_names)
                X = np.stack([values for _, values in columns], axis=1)
            return check_rows(X, self.forest.n_features)
        return encode_table(X, self.encoder, self.facts.feature_names)

    def _encode_row(self, x: Any) -> np.ndarray:
        if self.encoder is None:
            return check_row(x, self.forest.n_features)
        return encode_row(x, self.encoder, self.facts.feature_names)

    def values(self, X: Any) -> np.ndarray:
        """Input values (rows, columns): floats where all are numbers, objects otherwise."""
        found = read_columns(X, len(self.names), self.facts.feature_names)
        columns = [values for _, values in found]
        if all(is_numeric(values) for values in columns):
            return np.stack(columns, axis=1).astype(np.float64)
        return np.stack([values.astype(object) for values in columns], axis=1)

    def fold(self, parts: np.ndarray) -> np.ndarray:
        """Sums (rows, ..) over the encoded columns (rows, encoded, ..) of every input column."""
        folded = np.zeros((len(self.names), parts.shape[0], *parts.shape[2:]))
        np.add.at(folded, self.source, np.swapaxes(parts, 0, 1))
        return np.swapaxes(folded, 0, 1)

    # What is known

    @property
    def _tree(self) -> ObliqueTree:
        return self.forest.trees[0]

    def one_tree(self, what: str) -> ObliqueTree:
        """The tree, for those that can speak of a single one only."""
        if len(self.forest) != 1:
            raise TypeError(
                f"{what} takes a model of one tree, got {self.kind} of {len(self.forest)}: use "
                "contributions(), or one of its trees"
            )
        return self._tree

    @property
    def linear(self) -> bool:
        """Whether leaves are linear functions."""
        return self.forest.linear

    @property
    def columns(self) -> tuple[Column, ...]:
        """How input columns are encoded; none where rows go to the trees as they are."""
        return () if self.encoder is None else tuple(self.encoder.columns)

    @property
    def names(self) -> list[str]:
        """Input columns, as users know them."""
        known = [column.name for column in self.columns]
        return known or list(
            self.facts.feature_names or (f"x{j}" for j in range(self.forest.n_features))
        )

    @property
    def encoded_names(self) -> list[str]:
        """Columns that the trees' weights refer to."""
        return self.names if self.encoder is None else self.encoder.feature_names

    @cached_property
    def source(self) -> np.ndarray:
        """For every encoded column, the number of the input column it comes from."""
        return np.arange(self.forest.n_features) if self.encoder is None else self.encoder.source

    @cached_property
    def bent(self) -> dict[int, Column]:
        """Numbers of encoded columns that are bent, and what they come from."""
        first = np.cumsum([0, *(column.width for column in self.columns)]).tolist()
        return {at + c.beside: c for at, c in zip(first, self.columns, strict=False) if c.bent}

    @cached_property
    def typical(self) -> np.ndarray | None:
        """A typical encoded row; None where nobody knows.

        The median of every number, no gaps, and of a category all values in equal shares.
        """
        parts = [column.typical for column in self.columns]
        return np.concatenate(parts) if parts else None

    def reference(self, background: Any) -> np.ndarray:
        """The encoded row to compare with: the background's mean, or the typical row."""
        if background is not None:
            return np.asarray(self.encode(background), dtype=np.float64).mean(axis=0)
        if self.typical is None:
            raise ValueError(
                f"{self.kind} does not know what a typical row is, got "
                "background=None: give some training rows as background"
            )
        return self.typical

    def __repr__(self) -> str:
        from dgtrees.model.summary import summary_lines

        return f"<{'; '.join(summary_lines(self))}>"

    def _repr_html_(self) -> str:
        from dgtrees.model.notebook import model_html

        return model_html(self)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `dgtrees.load` reads."""
        from dgtrees.model.contents import describe  # which imports this module

        header, arrays = describe(self)
        model_file.write(path, {"kind": "Model", "made_by": self.kind, **UNSAID, **header}, arrays)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
        from dgtrees.model.contents import restore

        said = {name: value for name, value in header.items() if value is not None}
        with refusing(cls):
            return restore(header["made_by"], said, arrays)

    def named_features(self, given: Sequence[str] | None) -> list[str]:
        """Names of the encoded columns, which may be given as names of the columns of a table."""
        if given is None:
            return self.encoded_names
        names = [str(name) for name in given]
        if len(names) == self.forest.n_features:
            return names
        if self.encoder is not None and len(names) == len(self.columns):
            return self.encoder.renamed(names).feature_names
        raise ValueError(
            f"feature_names must name the {len(self.names)} columns, or all "
            f"{self.forest.n_features} encoded ones, got {len(names)} names: "
            "leave it out to have the model's own"
        )

    def class_names(self, given: Sequence[Any] | None) -> list[str] | None:
        """Names of the classes; None where outputs are no classes."""
        if given is None:
            return self.answer.names
        if len(given) != self.forest.n_outputs:
            raise ValueError(
                f"class_names must name the {self.forest.n_outputs} outputs of the model, "
                f"got {len(given)} names"
            )
        return [str(name) for name in given]

    def spread(self, given: Any = None) -> np.ndarray:
        """Spread of every encoded column; ones where nobody knows."""
        if given is not None:
            columns = len(self.encoded_names)
            return _of_length(given, "feature_scale", columns, "columns of the tree")
        scale = self.facts.feature_scale
        return np.ones(self.forest.n_features) if scale is None else scale

    def leaf_words(
        self, names: Sequence[str] | None = None, short: bool = False
    ) -> list[str] | None:
        """What leaves stand for, in words; None where that is the values that they hold."""
        if not isinstance(self.answer, Clusters):
            return None
        rows = self.leaf_rows()
        return self.answer.words(
            self.encoded_names if names is None else names,
            np.ones(len(self.answer.centers)) if rows is None else rows,
            self.facts.feature_scale,
            short,
        )

    def leaf_rows(self, given: Any = None) -> np.ndarray | None:
        """Training rows of every leaf of the first tree; None where nobody knows."""
        if given is not None:
            return _of_length(given, "leaf_rows", self._tree.n_leaves, "leaves of the tree")
        return None if self.facts.leaf_rows is None else self.facts.leaf_rows[0]


def _of_length(given: Any, name: str, length: int, what: str) -> np.ndarray:
    numbers = np.asarray(given, dtype=float)
    if numbers.shape != (length,):
        raise ValueError(
            f"{name} must be {length} numbers, for the {what}, got shape {numbers.shape}"
        )
    return numbers


def forest_of(
    trees: Sequence[ObliqueTree],
    answer: Answer,
    combine: str = "mean",
    base: ObliqueTree | None = None,
) -> ObliqueForest:
    """Trees together; what is linear, and knows no bounds, gets those of the answer."""
    forest = ObliqueForest(tuple(trees), combine, None, base)
    linear = forest.linear or (base is not None and base.linear)
    return replace(forest, bounds=answer.bounds) if linear else forest


class HasModel:
    """Base of estimators and policies: what has, once it has learnt, a `model_`."""

    model_: Model


ModelLike = Model | HasModel | ObliqueTree | ObliqueForest
"""What is explained, drawn and exported: a model, what has one, or bare trees."""


def model_of(thing: ModelLike) -> Model:
    """The model of an estimator or policy, or a tree or forest as a model.

    Raises
    ------
    StateError
        If it has not learnt anything yet.
    TypeError
        If it is none of these.
    """
    if isinstance(thing, Model):
        return thing
    kind = type(thing).__name__
    if isinstance(thing, ObliqueTree):
        return Model(ObliqueForest((thing,)), alone=True, kind=kind)
    if isinstance(thing, ObliqueForest):
        return Model(thing, kind=kind)
    found = getattr(thing, "model_", None)
    if isinstance(found, Model):
        return found
    if isinstance(thing, HasModel):
        raise StateError(f"{kind} has learnt nothing yet: call fit first")
    raise TypeError(
        f"model must be an estimator, policy or tree of dgtrees, got {kind}: give a fitted one"
    )
