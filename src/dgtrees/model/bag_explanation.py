"""Why a bag got its prediction: the rows with most of its odds, and what made the first of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dgtrees.errors import StateError
from dgtrees.model.bag_classes import BagClasses, outputs_of_bags
from dgtrees.model.contributions import contributions
from dgtrees.model.explanation import Explanation, explain
from dgtrees.model.model import ModelLike, model_of
from dgtrees.tables.bags import Bags
from dgtrees.tables.frames import is_frame

__all__ = ["BagExplanation", "BagRow", "Push", "explain_bag"]


@dataclass(frozen=True)
class BagRow:
    """A row of a bag: its place, its score (the logarithm of its odds), and its share.

    `share` is that of its odds in those of all rows of the bag.
    """

    row: int
    score: float
    share: float


@dataclass(frozen=True)
class Push:
    """What a column added to the score of the decisive row, compared with a typical row."""

    feature: str
    value: Any
    push: float


@dataclass(frozen=True)
class BagExplanation:
    """One prediction for a bag. `str()` of it is made to be read.

    `rows` has those of highest odds first; `pushes` are of the first of them, the largest first,
    and `path` the decisions that it met, for a model of one tree.
    """

    prediction: Any
    probability: float
    positive: str
    pooling: str
    n_rows: int
    rows: tuple[BagRow, ...]
    pushes: tuple[Push, ...]
    path: Explanation | None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, max_features: int = 3) -> str:
        """A few lines, with the columns that mattered most for the decisive row."""
        lines = [
            f"prediction: {self.prediction} ({self.positive} {self.probability:.0%}), "
            f"by the {self.pooling} of the odds of {self.n_rows} rows"
        ]
        lines += [
            f"row {row.row}: score {row.score:.3g}, {row.share:.0%} of the odds"
            for row in self.rows
        ]
        lines.append(f"row {self.rows[0].row} is decisive:")
        shown = self.pushes[:max_features]
        names = [f"{push.feature} = {_said(push.value)}" for push in shown]
        width = max((len(name) for name in names), default=0)
        for name, push in zip(names, shown, strict=True):
            lines.append(f"    {name:<{width}}  {push.push:+.3g}")
        if len(self.pushes) > max_features:
            lines.append(f"    ({len(self.pushes) - max_features} more)")
        return "\n".join(lines)


def explain_bag(model: ModelLike, X: Any, *, max_rows: int = 3) -> BagExplanation:
    """Explain the prediction for one bag, whose rows X has.

    Parameters
    ----------
    model : DGTBagClassifier or its Model
    X : array-like or DataFrame of shape (rows, columns)
    max_rows : int, default 3
        Rows to tell of.
    """
    seen = model_of(model)
    answer = seen.answer
    if not isinstance(answer, BagClasses):
        raise StateError(
            f"explain_bag takes a model of bags, got {seen.kind}: fit a DGTBagClassifier, or use "
            "explain for one row"
        )
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}")
    X = X if is_frame(X) else np.asarray(X)
    bag = Bags(np.zeros(len(X), dtype=np.int64), (0,))
    outputs = outputs_of_bags(seen, X, np.zeros(len(X)))
    of_rows = seen.outputs(X)
    scores = of_rows[:, 1] - of_rows[:, 0]
    shares = bag.pool_and_shares(scores, "sum")[1]
    order = np.argsort(-scores, kind="stable")
    first = int(order[0])
    decisive = X.iloc[[first]] if hasattr(X, "iloc") else X[first : first + 1]
    return BagExplanation(
        _plain(answer.predict(outputs)[0]),
        float(seen.probabilities(outputs)[0, 1]),
        answer.names[1],
        answer.pooling,
        len(scores),
        tuple(BagRow(int(j), float(scores[j]), float(shares[j])) for j in order[:max_rows]),
        _pushes(seen, decisive),
        explain(seen, decisive) if len(seen.forest) == 1 else None,
    )


def _pushes(seen: ModelLike, row: Any) -> tuple[Push, ...]:
    found = contributions(seen, row, output="score")
    moved = found.values[0, :, 1] - found.values[0, :, 0]
    order = np.argsort(-np.abs(moved), kind="stable")
    return tuple(
        Push(found.feature_names[j], _plain(found.data[0, j]), float(moved[j]))
        for j in order
        if moved[j] != 0
    )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _said(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
