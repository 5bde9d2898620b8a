"""Why one row got its prediction: the decisions on its path, and the columns that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from dgtrees.model.view import ModelView, view

__all__ = ["Explanation", "Reason", "Step", "explain"]


@dataclass(frozen=True)
class Reason:
    """What one column had to do with a decision.

    `push` is the column's weight times the difference between the row's value and the reference's
    (added up over the columns it was encoded into); above 0 it pushes to yes.
    """

    feature: str
    value: Any
    push: float


@dataclass(frozen=True)
class Step:
    """One decision: go right, "yes", where the margin w.x + b is at least 0.

    `typical` is the margin of the reference row; with the pushes of all reasons added it becomes
    `margin`. `distance` is how far the row is from the boundary, in standard deviations of the
    training columns; None where they are not known. `reasons` has the columns that mattered most
    first.
    """

    node: int
    margin: float
    typical: float
    distance: float | None
    direction: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Explanation:
    """One prediction and the path that led to it. `str()` of it is made to be read."""

    leaf: int
    n_leaves: int
    prediction: Any
    probabilities: dict[str, float] | None
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, max_features: int = 3) -> str:
        """A few lines, with the most important columns of every decision.

        Parameters
        ----------
        max_features : int, default 3
            Columns to name a decision.
        """
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}")
        count = len(self.steps)
        lines = [
            f"prediction: {self._predicted()}",
            f"leaf {self.leaf} of {self.n_leaves}, after {count} "
            f"decision{'' if count == 1 else 's'}",
        ]
        for step in self.steps:
            far = "" if step.distance is None else f", {step.distance:.2g} sd from the boundary"
            margins = f"margin {step.margin:.3g}, typical {step.typical:.3g}"
            lines.append(f"node {step.node}: {step.direction} ({margins}{far})")
            lines += _aligned(step.reasons[:max_features])
            if len(step.reasons) > max_features:
                lines.append(f"    ({len(step.reasons) - max_features} more)")
        return "\n".join(lines)

    def _predicted(self) -> str:
        if self.probabilities is None:
            values = self.prediction if isinstance(self.prediction, list) else [self.prediction]
            return ", ".join(_said(value) for value in values)
        likely = sorted(self.probabilities.items(), key=lambda item: -item[1])[:3]
        shares = ", ".join(f"{name} {share:.0%}" for name, share in likely)
        return f"{_said(self.prediction)} ({shares})"


def explain(model: Any, x: Any, *, background: Any = None) -> Explanation:
    """Explain one prediction by the decisions that led to it.

    Parameters
    ----------
    model : estimator of one tree, or ObliqueTree
    x : array-like of shape (columns,), one row of a DataFrame, or a dict of column names
        The row to explain.
    background : array-like or DataFrame, optional
        Rows whose mean the row's values are compared with. Without it: the medians of training,
        and of a category all values in equal shares. A bare tree needs it.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -2.0]], [0.5], [[10.0], [20.0]])
    >>> print(explain(tree, [3.0, 1.0], background=[[1.0, 0.0], [1.0, 2.0]]))
    prediction: 20
    leaf 1 of 2, after 1 decision
    node 0: yes (margin 1.5, typical -0.5)
        x0 = 3  pushes to yes by 2
    """
    seen = view(model)
    tree = seen.one_tree("explain")
    table = _one_row(seen, x)
    row = seen.encode(table)
    if len(row) != 1:
        raise ValueError(f"explain takes one row, got {len(row)}: give X[i], or use contributions")
    reference, values = seen.reference(background), seen.values(table)[0]
    path = tree.decision_path(row).indices
    nodes, leaf = path[:-1].tolist(), int(path[-1]) - tree.n_nodes
    steps = []
    for node, after in zip(nodes, path[1:].tolist(), strict=True):
        right = int(tree.right[node])
        yes = after == (right if right >= 0 else tree.n_nodes + ~right)
        margin = float(tree.weights[node] @ row[0] + tree.bias[node])
        push = seen.fold(tree.weights[node] * (row - reference))[0]
        steps.append(
            Step(
                node,
                margin,
                float(tree.weights[node] @ reference + tree.bias[node]),
                _distance(seen, tree.weights[node], margin),
                "yes" if yes else "no",
                _reasons(seen, values, push),
            )
        )
    outputs = tree.predict(row)[0]
    prediction, probabilities = _answer(seen, table, outputs)
    return Explanation(leaf, tree.n_leaves, prediction, probabilities, tuple(steps))


def _one_row(seen: ModelView, x: Any) -> Any:
    """A table of the one row that x is, with names where the model knows some."""
    if hasattr(x, "columns") and hasattr(x, "shape"):
        return x
    if hasattr(x, "to_dict"):  # a row of a DataFrame
        x = x.to_dict()
    elif not isinstance(x, Mapping):
        # Objects: beside names, numbers must stay numbers.
        cells = x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)
        if cells.ndim != 1:
            return np.asarray(x)
        if not hasattr(seen.model, "feature_names_in_") or len(cells) != len(seen.names):
            return cells[None]
        x = dict(zip(seen.names, cells.tolist(), strict=True))
    import pyarrow  # only rows with names need it

    return pyarrow.table({str(name): [value] for name, value in x.items()})


def _distance(seen: ModelView, weights: np.ndarray, margin: float) -> float | None:
    if seen.scale is None:
        return None
    length = float(np.linalg.norm(weights * seen.scale))
    return abs(margin) / length if length else None


def _reasons(seen: ModelView, values: np.ndarray, push: np.ndarray) -> tuple[Reason, ...]:
    order = np.argsort(-np.abs(push), kind="stable")
    return tuple(
        Reason(seen.names[j], _plain(values[j]), float(push[j])) for j in order if push[j] != 0
    )


def _answer(
    seen: ModelView, table: Any, outputs: np.ndarray
) -> tuple[Any, dict[str, float] | None]:
    if seen.classes is not None:
        shares = softmax(outputs).tolist()
        return _plain(seen.model.predict(table)[0]), dict(zip(seen.classes, shares, strict=True))
    if hasattr(seen.model, "predict") and hasattr(seen.model, "_encoder"):
        outputs = np.atleast_1d(seen.model.predict(table)[0])  # within the bounds of training
    return (float(outputs[0]) if len(outputs) == 1 else outputs.tolist()), None


def _plain(value: Any) -> Any:
    """A cell as JSON knows it; a gap is None."""
    value = value.item() if hasattr(value, "item") else value
    return None if value is None or value != value else value


def _said(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _aligned(reasons: tuple[Reason, ...]) -> list[str]:
    left = [f"{reason.feature} = {_said(reason.value)}" for reason in reasons]
    width = max((len(text) for text in left), default=0)
    return [
        f"    {text:<{width}}  pushes to {'yes' if reason.push > 0 else 'no'} "
        f"by {abs(reason.push):.3g}"
        for text, reason in zip(left, reasons, strict=True)
    ]
