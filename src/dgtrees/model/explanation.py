"""Why one row got its prediction: the decisions on its path, and the columns that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.notebook import html_table
from dgtrees.tables.encoder import is_frame

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


_LINEAR = "its leaf is a linear function: contributions() says what every column adds"


@dataclass(frozen=True)
class Explanation:
    """One prediction and the path that led to it. `str()` of it is made to be read."""

    leaf: int
    n_leaves: int
    prediction: Any
    probabilities: dict[str, float] | None
    steps: tuple[Step, ...]
    about: str | None = None
    """What there is to say of the leaf, in words: of clusters and of linear leaves."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        found = asdict(self)
        return found if self.about is not None else {k: found[k] for k in found if k != "about"}

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
        lines += [] if self.about is None else [self.about]
        for step in self.steps:
            far = "" if step.distance is None else f", {step.distance:.2g} sd from the boundary"
            margins = f"margin {step.margin:.3g}, typical {step.typical:.3g}"
            lines.append(f"node {step.node}: {step.direction} ({margins}{far})")
            lines += _aligned(step.reasons[:max_features])
            if len(step.reasons) > max_features:
                lines.append(f"    ({len(step.reasons) - max_features} more)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = (
            (
                step.node,
                step.direction,
                f"{step.margin:.3g}",
                f"{step.typical:.3g}",
                ", ".join(
                    f"{r.feature} = {_said(r.value)} ({r.push:+.3g})" for r in step.reasons[:3]
                ),
            )
            for step in self.steps
        )
        head = ["node", "goes to", "margin", "typical", "because of"]
        return f"<p><b>{escape(self._predicted())}</b></p>" + html_table(head, rows)

    def _predicted(self) -> str:
        if self.probabilities is None:
            values = self.prediction if isinstance(self.prediction, list) else [self.prediction]
            return ", ".join(_said(value) for value in values)
        likely = sorted(self.probabilities.items(), key=lambda item: -item[1])[:3]
        shares = ", ".join(f"{name} {share:.0%}" for name, share in likely)
        return f"{_said(self.prediction)} ({shares})"


def explain(
    model: ModelLike, x: ArrayLike | Mapping[str, Any], *, background: ArrayLike | None = None
) -> Explanation:
    """Explain one prediction by the decisions that led to it.

    Parameters
    ----------
    model : estimator or policy of one tree, or ObliqueTree
    x : array-like of shape (columns,), one row of a DataFrame, or a dict of column names
        The row to explain. Names are looked up, in any order; a table without names has
        x0, x1, ...
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
    seen = model_of(model)
    tree = seen.one_tree("explain")
    row, values = _one_row(seen, x)
    reference = seen.reference(background)
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
    prediction, probabilities = _answer(seen, seen.encoded_outputs(row)[0])
    words = seen.leaf_words()
    about = words[leaf] if words is not None else _LINEAR if tree.linear else None
    return Explanation(leaf, tree.n_leaves, prediction, probabilities, tuple(steps), about)


def _one_row(seen: Model, x: Any) -> tuple[np.ndarray, list[Any]]:
    """The row that x is, encoded (1, encoded columns), and its cells as they were given."""
    if is_frame(x):
        row = _floats(seen, x)
        _check_one(len(row))
        return row, seen.values(x)[0].tolist()
    if isinstance(x, Mapping) or hasattr(x, "to_dict"):  # to_dict: a row of a DataFrame
        cells = _by_name(seen, list(x.items()))
    else:
        # Objects: beside names, numbers must stay numbers.
        table = x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)
        if table.ndim == 2:
            _check_one(len(table))
            table = table[0]
        if table.shape != (len(seen.names),):
            raise ValueError(
                f"x must have the {len(seen.names)} columns of the model, got shape {table.shape}: "
                "give one row, X[i]"
            )
        cells = table.tolist()
    columns = []
    for name, cell in zip(seen.names, cells, strict=True):
        column = np.empty(1, dtype=object)  # of any type, as `predict` would find it in a table
        column[0] = cell
        columns.append((name, column))
    if seen.encoder is None:
        return _floats(seen, np.stack([column for _, column in columns], axis=1)), cells
    return seen.encoder.expand(columns), cells


def _floats(seen: Model, X: Any) -> np.ndarray:
    return np.asarray(seen.encode(X), dtype=np.float64)


def _check_one(rows: int) -> None:
    if rows != 1:
        raise ValueError(f"explain takes one row, got {rows}: give X[i], or use contributions")


def _by_name(seen: Model, items: list[tuple[Any, Any]]) -> list[Any]:
    """Cells in the order of the model's columns."""
    found: dict[str, Any] = {}
    for key, cell in items:
        name = str(key)
        if name not in seen.names and isinstance(key, (int, np.integer)):
            name = f"x{key}"  # what column 0 of a table without names is called
        if name in found:
            raise ValueError(f"x must have every column once, got {name!r} twice: rename one")
        found[name] = cell
    missing = [name for name in seen.names if name not in found]
    unknown = [name for name in found if name not in seen.names]
    if missing or unknown:
        said = [f"without {_listed(missing)}"] if missing else []
        said += [f"with unknown {_listed(unknown)}"] if unknown else []
        raise ValueError(
            f"x must have the {len(seen.names)} columns of the model, got a row "
            f"{' and '.join(said)}: rename them, or give an array in the model's order"
        )
    return [found[name] for name in seen.names]


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")


def _distance(seen: Model, weights: np.ndarray, margin: float) -> float | None:
    scale = seen.facts.feature_scale
    if scale is None:
        return None
    length = float(np.linalg.norm(weights * scale))
    return abs(margin) / length if length else None


def _reasons(seen: Model, values: list[Any], push: np.ndarray) -> tuple[Reason, ...]:
    order = np.argsort(-np.abs(push), kind="stable")
    return tuple(
        Reason(seen.names[j], _plain(values[j]), float(push[j])) for j in order if push[j] != 0
    )


def _answer(seen: Model, outputs: np.ndarray) -> tuple[Any, dict[str, float] | None]:
    if seen.answer.names is not None:
        shares = seen.probabilities(outputs).tolist()
        best = seen.answer.predict(outputs)
        return _plain(best), dict(zip(seen.answer.names, shares, strict=True))
    if seen.answer.numbered:
        return int(seen.answer.predict(outputs)), None
    return (float(outputs[0]) if len(outputs) == 1 else outputs.tolist()), None


def _plain(value: Any) -> Any:
    """A cell as JSON knows it; a gap is None."""
    value = value.item() if hasattr(value, "item") else value
    try:
        return None if value is None or value != value else value
    except TypeError:  # pandas.NA refuses to be true or false
        return None


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
