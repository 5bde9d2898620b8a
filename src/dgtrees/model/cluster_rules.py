"""What clusters are, in words: unusual columns of centres, and rules of few conditions.

The tree's own decisions are sums of columns. The rules here are not the tree: they are the closest
boxes, a few conditions on single columns each, and say of themselves how close that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtrees.model.clusters import Clusters
from dgtrees.model.model import ModelLike, model_of
from dgtrees.model.text import on_one_line, short_number

__all__ = ["ClusterRule", "describe_clusters"]

_MOST_COLUMNS = 24
"""Columns, the most unusual of a cluster, among which conditions are looked for."""

_GAIN = 0.01
"""What a further condition must add to a rule's F1 score."""


@dataclass(frozen=True)
class ClusterRule:
    """A cluster as conditions that must hold together.

    Parameters
    ----------
    cluster : int
    rows : int
        Rows of the cluster.
    conditions : tuple of str
    coverage : float
        Share of the cluster's rows for which they hold.
    precision : float
        Share of the rows for which they hold that are the cluster's.
    """

    cluster: int
    rows: int
    conditions: tuple[str, ...]
    coverage: float
    precision: float

    def __str__(self) -> str:
        said = " and ".join(self.conditions) or "any row"
        return (
            f"cluster {self.cluster} ({self.rows:,} row{'' if self.rows == 1 else 's'}): {said}  "
            f"[{self.coverage:.0%} of its rows, {self.precision:.0%} of those it holds for]"
        )


def describe_clusters(model: ModelLike, X: Any, max_conditions: int = 3) -> list[ClusterRule]:
    """The closest rule of at most so many conditions for every cluster, by the rows of X.

    Conditions are added one by one, each the one that raises the F1 score of the rule the most.

    Parameters
    ----------
    model : DGTClusterer, DGTAutoencoder or Model of clusters
    X : array-like or DataFrame of shape (rows, columns)
    max_conditions : int, default 3
    """
    seen = model_of(model)
    if not isinstance(seen.answer, Clusters):
        raise TypeError(f"describe_clusters takes a model of clusters, got {seen.kind}")
    if max_conditions < 1:
        raise ValueError(f"max_conditions must be at least 1, got {max_conditions}")
    rows = np.asarray(seen.encode(X), dtype=np.float64)
    leaves, names = seen.leaves(rows), [on_one_line(name) for name in seen.encoded_names]
    order = np.argsort(rows, axis=0, kind="stable")
    spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
    found = []
    for cluster in range(len(seen.answer.centers)):
        inside = leaves == cluster
        if not inside.any():
            found.append(ClusterRule(cluster, 0, (), 0.0, 0.0))
            continue
        unusual = np.abs(rows[inside].mean(axis=0) - rows.mean(axis=0)) / spread
        columns = np.argsort(-unusual, kind="stable")[:_MOST_COLUMNS].tolist()
        found.append(_rule(cluster, rows, inside, columns, order, names, max_conditions))
    return found


def _rule(
    cluster: int,
    rows: np.ndarray,
    inside: np.ndarray,
    columns: Sequence[int],
    order: np.ndarray,
    names: Sequence[str],
    most: int,
) -> ClusterRule:
    holds, best = np.ones(len(rows), dtype=bool), _f1(inside.sum(), len(rows), inside.sum())
    conditions: list[tuple[int, bool, float]] = []
    for _ in range(most):
        cuts = [(*_best_cut(rows[:, j], order[:, j], holds, inside), j) for j in columns]
        score, above, threshold, column = max(cuts, key=lambda cut: cut[0])
        if score < best + _GAIN:
            break
        best = score
        holds &= rows[:, column] >= threshold if above else rows[:, column] < threshold
        conditions.append((column, above, threshold))
    both = int((holds & inside).sum())
    return ClusterRule(
        cluster,
        int(inside.sum()),
        tuple(_said(conditions, rows, names)),
        both / int(inside.sum()),
        both / int(holds.sum()),
    )


def _f1(both: Any, holding: Any, inside: Any) -> Any:
    return 2.0 * both / (holding + inside)


def _best_cut(
    values: np.ndarray, order: np.ndarray, holds: np.ndarray, inside: np.ndarray
) -> tuple[float, bool, float]:
    """The best further condition on one column: F1, whether values lie above, and the threshold."""
    order = order[holds[order]]
    sorted_values, mine = values[order], inside[order]
    ends = np.flatnonzero(sorted_values[1:] > sorted_values[:-1])
    if not ends.size:
        return -1.0, True, 0.0
    below, count = np.cumsum(mine)[ends], inside.sum()
    low = _f1(below, ends + 1, count)
    high = _f1(mine.sum() - below, len(order) - ends - 1, count)
    above = bool(high.max() >= low.max())
    place = ends[int((high if above else low).argmax())]
    threshold = _between(float(sorted_values[place]), float(sorted_values[place + 1]))
    return float(max(high.max(), low.max())), above, threshold


def _between(low: float, high: float) -> float:
    """A short number above `low` and at most `high`."""
    for digits in range(2, 17):
        number = float(f"{(low + high) / 2:.{digits}g}")
        if low < number <= high:
            return number
    return high


def _said(
    conditions: Sequence[tuple[int, bool, float]], rows: np.ndarray, names: Sequence[str]
) -> list[str]:
    """Conditions as text; of two that bound one column on the same side, the later says more."""
    kept = {(column, above): threshold for column, above, threshold in conditions}
    said = []
    for (column, above), threshold in kept.items():
        if np.isin(rows[:, column], (0.0, 1.0)).all():
            said.append(names[column] if above else f"not {names[column]}")
        else:
            sign = ">=" if above else "<"
            digits = 15 if float(f"{threshold:.15g}") == threshold else 17
            said.append(f"{names[column]} {sign} {short_number(threshold, digits)}")
    return said
