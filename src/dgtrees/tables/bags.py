"""Bags: which rows belong together, and what they say together.

The odds of a bag are made of the odds of its rows, which are exp(score):

    sum    the odds of its rows, added up: every row may add evidence, and none can take it away
    max    the highest odds of a row
    mean   the mean of the odds of its rows: a row of low odds does take evidence away

Scores of bags are logarithms of their odds again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dgtrees.schema import shown
from dgtrees.tables.frames import is_frame

__all__ = ["POOLINGS", "Bags", "labels_of_bags", "rows_and_bags"]

POOLINGS = ("sum", "max", "mean")


@dataclass(frozen=True, eq=False)
class Bags:
    """The bag of every row.

    Parameters
    ----------
    number : ndarray of shape (rows,)
        Numbers of bags: 0, 1, ... in the order in which bags first appear.
    ids : tuple
        What the bags are called.
    """

    number: np.ndarray
    ids: tuple[Any, ...]

    @classmethod
    def of(cls, ids: Any, rows: int) -> Bags:
        """Bags of rows with such ids, which may be anything but missing.

        >>> Bags.of(["b", "a", "b"], 3).number
        array([0, 1, 0])
        """
        values = ids.to_numpy() if hasattr(ids, "to_numpy") else np.asarray(ids)
        if values.shape != (rows,):
            raise ValueError(
                f"bags must have one id per row, {rows} of them, got shape {values.shape}"
            )
        known: dict[Any, int] = {}
        number = np.empty(rows, dtype=np.int64)
        for row, value in enumerate(values.tolist()):
            if value is None or value != value:
                raise ValueError(
                    f"bags must not have missing ids, got {value} in row {row}: give the row a bag"
                )
            number[row] = known.setdefault(value, len(known))
        return cls(number, tuple(known))

    @classmethod
    def alone(cls, rows: int) -> Bags:
        """Every row as a bag of its own."""
        return cls(np.arange(rows), tuple(range(rows)))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of every bag, (bags,)."""
        return np.bincount(self.number, minlength=len(self))

    @cached_property
    def order(self) -> np.ndarray:
        """Rows bag by bag, (rows,)."""
        return np.argsort(self.number, kind="stable")

    @cached_property
    def starts(self) -> np.ndarray:
        """Where every bag begins in `order`, (bags,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def take(self, chosen: np.ndarray) -> tuple[np.ndarray, Bags]:
        """Rows of some of the bags, bag by bag, and their bags; a bag may come several times."""
        sizes = self.sizes[chosen]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self.order[np.repeat(self.starts[chosen], sizes) + within]
        number = np.repeat(np.arange(len(chosen)), sizes)
        return rows, Bags(number, tuple(range(len(chosen))))

    def pool(self, scores: np.ndarray, how: str, sharpness: float = 1.0) -> np.ndarray:
        """Scores (bags,) of the bags from scores (rows,) of their rows."""
        return self.pool_and_shares(scores, how, sharpness)[0]

    def pool_and_shares(
        self, scores: np.ndarray, how: str, sharpness: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores of bags, and the slope of every row's bag in the row's score (rows,).

        Slopes of a bag add up to 1; of its highest rows of "max" the first has all of it. With a
        `sharpness` above 1 scores are multiplied by it before odds are made of them, and divided
        again: "sum" then tends to "max".
        """
        sorted_scores = scores[self.order]
        top = np.maximum.reduceat(sorted_scores, self.starts)
        shares = np.zeros(len(scores))
        if how == "max":
            shares[self.decisive(scores)] = 1.0
            return top, shares
        odds = np.exp(sharpness * (sorted_scores - np.repeat(top, self.sizes)))
        total = np.add.reduceat(odds, self.starts)
        shares[self.order] = odds / np.repeat(total, self.sizes)
        total = total / self.sizes if how == "mean" else total
        return top + np.log(total) / sharpness, shares

    def decisive(self, scores: np.ndarray) -> np.ndarray:
        """The row of every bag whose score is highest, (bags,); the first of equal ones."""
        ranked = np.lexsort([-scores, self.number])
        return ranked[self.starts]


def rows_and_bags(X: Any, bags: Any) -> tuple[Any, Bags | None]:
    """Rows in one table, and their bags: as `bags` says, or a list of tables, one per bag.

    None where nothing says what belongs together.
    """
    if bags is not None:
        return X, Bags.of(bags, X.shape[0] if hasattr(X, "shape") else len(X))
    if not isinstance(X, (list, tuple)) or not X or np.ndim(_values(X[0])) != 2:
        return X, None
    sizes = [len(_values(part)) for part in X]
    if 0 in sizes:
        raise ValueError(
            f"a bag must have at least one row, got none in bag {sizes.index(0)}: leave it out"
        )
    widths = {_values(part).shape[1:] for part in X}
    if len(widths) > 1:
        raise ValueError(
            f"bags must be tables of the same columns, got widths {shown(sorted(widths))}"
        )
    number = np.repeat(np.arange(len(X)), sizes)
    return _stacked(X), Bags(number, tuple(range(len(X))))


def _values(part: Any) -> Any:
    """A table as it is, or as an array where it is a list of rows."""
    return part if hasattr(part, "shape") else np.asarray(part, dtype=object)


def _stacked(parts: Any) -> Any:
    """Tables below each other: frames of pandas or polars stay frames."""
    first = parts[0]
    if not is_frame(first):
        return np.concatenate([np.asarray(part) for part in parts])
    if hasattr(first, "vstack"):
        stacked = first
        for part in parts[1:]:
            stacked = stacked.vstack(part)
        return stacked
    # pandas is there, or there would be no such frame.
    from importlib import import_module

    return import_module("pandas").concat(list(parts), ignore_index=True)


def labels_of_bags(y: Any, bags: Bags) -> np.ndarray:
    """The label of every bag, (bags,).

    Parameters
    ----------
    y : mapping, or array-like of shape (rows,) or (bags,)
        Ids of bags to labels; a label per row, the same for all rows of a bag; or a label per bag,
        in the order in which bags first appear.
    """
    if isinstance(y, Mapping):
        missing = [bag for bag in bags.ids if bag not in y]
        if missing:
            raise ValueError(f"y must have a label for every bag, got none for {missing[0]!r}")
        unknown = [*y.keys() - set(bags.ids)]
        if unknown:
            raise ValueError(
                f"y must have labels of bags that there are, got one for {unknown[0]!r}: check bags"
            )
        return np.array([y[bag] for bag in bags.ids])
    labels = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    rows = len(bags.number)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(labels) == rows and labels.ndim == 1:
        first = labels[bags.order[bags.starts]]
        other = np.flatnonzero(labels != first[bags.number])
        if other.size:
            bag = int(bags.number[other[0]])
            raise ValueError(
                f"all rows of a bag must have one label, got {first[bag]} and {labels[other[0]]} "
                f"in bag {bags.ids[bag]!r}: correct y, or give a label per bag"
            )
        return np.asarray(first)
    if labels.shape != (len(bags),):
        raise ValueError(
            f"y must have a label per row ({rows}) or per bag ({len(bags)}), got shape "
            f"{labels.shape}"
        )
    return np.asarray(labels)
