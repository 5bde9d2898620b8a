"""How much each input column moved a prediction, in the form that SHAP's pictures take.

Two ways. "path" follows the row through the tree and is quick; "sampling" estimates interventional
Shapley values and takes any model. Both add up to the prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.tree.leaf import move_from, outputs_at
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import means_below, position

__all__ = ["Contributions", "contributions"]

_METHODS = ("path", "sampling")
_OUTPUTS = ("probability", "score", "value", "share")


@dataclass(frozen=True)
class Contributions:
    """Contributions of columns to predictions; field names are those of `shap.Explanation`.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (rows, columns, outputs)
        What each column added. Classifiers have an output a class.
    base_values : ndarray of shape (rows,) or (rows, outputs)
        The prediction before any column has been looked at; the same for all rows.
    data : ndarray of shape (rows, columns)
        Input values.
    feature_names : list of str
        Names of the input columns.
    output_names : list of str or None
        Names of the classes.
    output : {"probability", "score", "share", "value"}
        What is explained: `predict_proba`, the leaf scores it is the softmax of, the mean shares of
        a forest that it is made of by a power, or `predict`.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    output_names: list[str] | None
    output: str

    @property
    def predictions(self) -> np.ndarray:
        """Base plus contributions: the model's output."""
        return self.base_values + self.values.sum(axis=1)

    def to_shap(self) -> Any:
        """The same as a `shap.Explanation`, which every `shap.plots` function takes."""
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap") from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )


def contributions(
    model: ModelLike,
    X: ArrayLike,
    *,
    background: ArrayLike | None = None,
    output: str | None = None,
    method: str = "path",
    n_permutations: int = 100,
    random_state: int = 0,
) -> Contributions:
    """What every input column contributed to the predictions for the rows of X.

    ``base_values + values.sum(axis=1)`` is the model's output, up to rounding; with method "path"
    that of a boosted model before it is kept within the range of the targets.

    Method "path" starts from the mean output of the training rows. At every decision on a row's
    path the mean changes from that of the node to that of the child the row goes to; this change
    is shared among the columns that pushed the row that way, in proportion to
    ``weight * (value - reference)``. Columns that pushed the other way get nothing of it. Where
    no column pushed that way (the reference goes there by itself, and further), all share by
    weight times spread. A linear leaf then adds ``weight * (value - reference)`` of its own.
    It is not a Shapley value: other orders of asking are not tried, and columns that depend on
    each other are not told apart. Use it to see what a path rests on; use "sampling" where the
    axioms matter.

    Method "sampling" estimates interventional Shapley values: columns of a background row are
    replaced one by one, in random order, by those of the row to explain, and each change of the
    output goes to the column that caused it. The estimate has noise, which falls with the square
    root of `n_permutations`; the sum is exact nevertheless.

    Columns that were one-hot encoded come back as the one column they were.

    Parameters
    ----------
    model : estimator, policy, ObliqueTree or ObliqueForest
    X : array-like or DataFrame of shape (rows, columns)
    background : array-like or DataFrame, optional
        Rows to compare with, such as the training rows: their mean is the reference and their
        leaves say how often each leaf is reached. "sampling" needs it. Without it, "path" takes
        medians (and of a category all values in equal shares) and the leaf counts of training.
    output : {"probability", "score", "share"}, optional
        For classes: probabilities, the default, or leaf scores, the default for linear leaves; for
        a forest whose probabilities are a power of its trees' mean shares, these shares.
    method : {"path", "sampling"}, default "path"
    n_permutations : int, default 100
        Random orders a row, for "sampling".
    random_state : int, default 0
        Seed of "sampling".

    Examples
    --------
    >>> tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[10.0], [20.0]])
    >>> found = contributions(tree, [[3.0, 1.0]], background=[[0.0, 0.0], [0.0, 2.0]])
    >>> found.values, found.base_values
    (array([[5., 0.]]), array([15.]))
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    seen = model_of(model)
    if seen.answer.numbered:
        raise TypeError(
            "contributions share out values or scores, and the number of a cluster is neither: use "
            "explain"
        )
    answers = _Answers(seen, output)
    rows = np.asarray(seen.encode(X), dtype=np.float64)
    if method == "sampling":
        if background is None:
            raise ValueError(
                "method='sampling' compares with background rows, got none: give "
                "background=X_train, or use method='path'"
            )
        compared = np.asarray(seen.encode(background), dtype=np.float64)
        values, base = _sampled(seen, answers, rows, compared, n_permutations, random_state)
    else:
        values, base = _by_path(seen, answers, rows, background)
    base_values = np.repeat(base[None], len(rows), axis=0)
    if answers.single:
        values, base_values = values[..., 0], base_values[:, 0]
    return Contributions(
        values, base_values, seen.values(X), seen.names, answers.names, answers.output
    )


class _Answers:
    """What outputs of a tree become before they are averaged over trees and explained.

    `curved` says that they become votes or probabilities, and not values between bounds.
    """

    def __init__(self, seen: Model, output: str | None) -> None:
        self.linear, self.names, scores = seen.linear, seen.answer.names, seen.scores_to_shares
        self.summed = seen.forest.combine == "sum"
        default = "score" if (self.linear or self.summed) and scores else "probability"
        if seen.answer.exponent != 1.0:
            default = "share"
        self.output = "value" if self.names is None else output or default
        if self.summed:
            known: tuple[str, ...] = ("score",)
        elif seen.answer.exponent != 1.0:  # a power of a sum is not shared out among its parts
            known = ("share",)
        else:
            known = _OUTPUTS[: 2 if scores else 1]
        allowed = ("value",) if self.names is None else known
        if (output or self.output) not in allowed:
            raise ValueError(f"output must be {' or '.join(allowed)} here, got {output!r}")
        # Of several numbers only classes and several targets need an axis of their own.
        self.single = self.names is None and seen.forest.n_outputs == 1
        self.said: Callable[[np.ndarray], np.ndarray] = seen.forest._said
        shares = self.output in ("probability", "share")
        if scores and shares:
            self.said = seen.probabilities
        self.curved = shares or seen.forest.combine in ("vote", "softmax")


def _by_path(
    seen: Model, answers: _Answers, rows: np.ndarray, background: Any
) -> tuple[np.ndarray, np.ndarray]:
    if answers.linear and answers.curved:
        raise ValueError(
            "method='path' explains probabilities of constant leaves only, got linear ones: use "
            "method='sampling', or for a single tree output='score'"
        )
    reference = seen.reference(background)
    if background is not None:
        compared = seen.encode(background)
        mass = tuple(tree.visits(compared)[1] for tree in seen.forest.trees)
    elif seen.facts.leaf_rows is not None:
        mass = seen.facts.leaf_rows
    else:
        raise ValueError(
            "the model does not know how many training rows came to each leaf, got "
            "background=None: give some training rows as background"
        )
    values = np.zeros((len(rows), len(seen.names), seen.forest.n_outputs))
    base = np.zeros(seen.forest.n_outputs)
    trees = list(zip(seen.forest.trees, mass, strict=True))
    if seen.forest.base is not None:
        trees.append((seen.forest.base, np.ones(1)))
    for tree, at_leaf in trees:
        mean = means_below(tree, at_leaf, answers.said(outputs_at(tree, reference)))
        base += mean[0]
        values += _along_paths(seen, tree, rows, reference, mean)
        if tree.linear:
            values += _in_linear_leaves(seen, answers, tree, rows, reference)
    among = 1 if answers.summed else len(seen.forest.trees)
    return values / among, base / among


def _along_paths(
    seen: Model, tree: ObliqueTree, rows: np.ndarray, reference: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    values = np.zeros((len(rows), len(seen.names), mean.shape[1]))
    passed = tree.decision_path(rows).tocsc()
    away = rows - reference
    for node in range(tree.n_nodes):
        by_weight = seen.fold(np.abs(tree.weights[node] * seen.spread())[None])[0]
        if not by_weight.any():  # the bias alone decides
            by_weight = np.ones(len(seen.names))
        for child, sign in ((tree.left[node], -1.0), (tree.right[node], 1.0)):
            at = position(int(child), tree.n_nodes)
            here = passed.indices[passed.indptr[at] : passed.indptr[at + 1]]
            push = np.maximum(sign * seen.fold(away[here] * tree.weights[node]), 0.0)
            push = np.where(push.any(axis=1, keepdims=True), push, by_weight)
            share = push / push.sum(axis=1, keepdims=True)
            values[here] += share[:, :, None] * (mean[at] - mean[node])
    return values


def _in_linear_leaves(
    seen: Model, answers: _Answers, tree: ObliqueTree, rows: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """What the slopes of the leaves add to their values at the reference."""
    values = np.zeros((len(rows), len(seen.names), tree.n_outputs))
    leaves = tree.apply(rows)
    for leaf in np.unique(leaves):
        here = np.flatnonzero(leaves == leaf)
        start, parts = move_from(tree, leaf, reference, rows[here])
        parts = seen.fold(parts)
        unbounded = parts.sum(axis=1)
        change = answers.said(start + unbounded) - answers.said(start)
        # Bounds shorten a change and never turn it round: all parts shrink alike.
        moved = np.abs(unbounded) > 0
        shrink = np.divide(change, unbounded, out=np.ones_like(change), where=moved)
        values[here] = parts * np.clip(shrink, 0.0, 1.0)[:, None, :]
    return values


def _sampled(
    seen: Model,
    answers: _Answers,
    rows: np.ndarray,
    background: np.ndarray,
    n_permutations: int,
    random_state: int,
) -> tuple[np.ndarray, np.ndarray]:
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    rng = np.random.default_rng(random_state)
    columns = len(seen.names)
    # All rows meet the same orders and background rows: differences between them are theirs.
    starts = background[rng.integers(len(background), size=n_permutations)]
    orders = [rng.permutation(columns) for _ in range(n_permutations)]
    values = np.zeros((len(rows), columns, seen.forest.n_outputs))
    base = np.zeros(seen.forest.n_outputs)

    def outputs(mixed: np.ndarray) -> np.ndarray:
        if answers.summed:
            return seen.encoded_outputs(mixed)
        each = [answers.said(tree.predict(mixed)) for tree in seen.forest.trees]
        return np.asarray(np.mean(each, axis=0))

    for start, order in zip(starts, orders, strict=True):
        base += outputs(start[None])[0] / n_permutations
        # Step k of a row: its own values in the first k columns of the order.
        rank = np.empty(columns, dtype=int)
        rank[order] = np.arange(columns)
        own = rank[seen.source][None] < np.arange(columns + 1)[:, None]
        for i, row in enumerate(rows):
            values[i, order] += np.diff(outputs(np.where(own, row, start)), axis=0) / n_permutations
    return values, base
