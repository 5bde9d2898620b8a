"""ColumnLearner: what an `Encoder` learns of each column, and what its owner is told.

Needs Arrow, which judges columns of objects (`kinds`); predicting never comes here.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.errors import ColumnWarning, Problems, UnusableColumnError
from dgtrees.tables.columns import Place, drop_call, settle_columns
from dgtrees.tables.dates import find_order, to_dates
from dgtrees.tables.encoding import (
    CATEGORY,
    DATE,
    UNUSED,
    Column,
    label_weights,
    learn_date,
    learn_number,
)
from dgtrees.tables.frames import Labels, arrow_values, as_labels, is_numeric
from dgtrees.tables.kinds import KINDS, check_on_unusable, settle_column, suspect, to_arrow
from dgtrees.tables.target_statistics import Targets, category_means
from dgtrees.tables.text_values import to_numbers, without_blanks

if TYPE_CHECKING:
    from dgtrees.tables.encoder import Encoder

__all__ = ["ColumnLearner"]

_MOST_POOLED = 10_000
"""Categories per column that keep a statistic of their own, which model files have to hold."""

_LITTLE = 0.05
"""Share of the rows up to which rare categories are pooled without a statistic."""


class ColumnLearner:
    """Learns columns by an encoder's settings; `notes` is what it noticed."""

    def __init__(self, encoder: Encoder, names: Sequence[str]) -> None:
        self.encoder, self.notes = encoder, list[str]()
        _check_settings(encoder, set(names))

    def learn(
        self,
        columns: Sequence[tuple[str, np.ndarray]],
        weight: np.ndarray,
        targets: Targets | None,
    ) -> list[Column]:
        """Columns as the rows of positive weight have them; all that is wrong with them at once."""
        used = weight > 0
        if targets is not None:
            targets = replace(targets, values=targets.values[used])
        problems, found = Problems(), list[Column]()
        for name, values in columns:
            with problems.collect():
                found.append(self._column(name, values[used], weight[used], targets))
        settle_columns(problems, file=False)
        return found

    def _column(
        self, name: str, values: np.ndarray, weight: np.ndarray, targets: Targets | None
    ) -> Column:
        if name in self.encoder.drop:
            return Column(name, UNUSED)
        kind = self.encoder.kinds.get(name)
        try:
            values = _settle(name, values, kind)
        except UnusableColumnError as error:
            if self.encoder.on_unusable == "raise" or kind is not None:
                raise
            return self._left_out(name, str(error))
        if isinstance(values, Labels):
            return self._category(name, values, weight, targets)
        if not is_numeric(values):
            return self._date(name, values, weight)
        numbers = to_numbers(values, name)
        if kind is None and (reason := suspect(name, numbers)) is not None:
            reason = f"column {name!r} {reason}, which says nothing about new rows"
            if self.encoder.on_unusable == "drop":
                return self._left_out(name, reason)
            calls = f"{drop_call([name], file=False)} or --drop {shlex.quote(name)}"
            self._tell(f"{reason}: drop it ({calls})")
        self._notice_constant(name, numbers)
        return learn_number(name, numbers, weight)

    def _left_out(self, name: str, reason: str) -> Column:
        self._tell(f"left out: {reason}")
        return Column(name, UNUSED)

    def _date(self, name: str, values: np.ndarray, weight: np.ndarray) -> Column:
        order = "ymd"
        if values.dtype == object:
            texts = {without_blanks(v) for v in values.tolist() if isinstance(v, str)}
            order = next(iter(find_order(text for text in texts if text is not None)), order)
        dates = to_dates(values, name, order)
        self._notice_constant(name, dates)
        return learn_date(name, dates, weight, order)

    def _category(
        self, name: str, labels: np.ndarray, weight: np.ndarray, targets: Targets | None
    ) -> Column:
        weights = label_weights(labels, weight)
        column = self.encoder.category_column(name, weights)
        self._notice_constant(name, labels)
        left = set(weights) - set(column.categories)
        if not left:
            return column
        share = sum(weights[label] for label in left) / sum(weights.values())
        what = f"column {name!r}: {len(left):,} of {len(weights):,} values ({share:.1%} of rows)"
        least = min(weights[label] for label in column.categories)
        rare = max(weights[label] for label in left) < self.encoder.min_frequency <= least
        if rare and (targets is None or share <= _LITTLE):
            self.notes.append(f"{what} are rare and share one column")
            return column
        if targets is None:
            self._tell(f"{what} share one column: there are no more than {len(column.categories)}")
            return column
        self.notes.append(
            f"{what} are told apart by the target's mean, without a column of their own"
        )
        kept = sorted(left, key=lambda label: (-weights[label], label))[:_MOST_POOLED]
        column = replace(column, pooled=tuple(sorted(kept)), outputs=targets.names)
        codes = column.codes(labels)
        means = category_means(codes, len(column.labels), targets.values, weight)
        return replace(column, means=tuple(map(tuple, means.tolist())))

    def _notice_constant(self, name: str, values: np.ndarray) -> None:
        if len(values) > 1 and bool((values == values[0]).all()):
            self.notes.append(f"column {name!r} is always {values[0]!s}: it carries nothing")

    def _tell(self, text: str) -> None:
        self.notes.append(text)
        warnings.warn(text, ColumnWarning, stacklevel=2)


def _check_settings(encoder: Encoder, known: set[str]) -> None:
    problems = Problems()
    with problems.collect():
        check_on_unusable(encoder.on_unusable)
    for name, kind in encoder.kinds.items():
        problems.require(
            kind in KINDS, f"the kind of {name!r} must be one of {KINDS}, got {kind!r}"
        )
    for name in [*encoder.drop, *encoder.kinds]:
        problems.require(
            name in known, f"drop and kinds must name columns of the table, got {name!r}"
        )
    problems.settle()


def _settle(name: str, values: np.ndarray, kind: str | None) -> np.ndarray:
    """Values of a column as what they are: numbers, `Labels` or dates."""
    if kind == CATEGORY:
        return _as_names(values)
    if is_numeric(values) and kind != DATE:
        return values
    if kind is None and isinstance(values, Labels):
        return values
    if values.dtype.kind == "M" and kind != "number":
        return values
    place = Place("", name)
    return arrow_values(settle_column(to_arrow(values, place), place, kind))


def _as_names(values: np.ndarray) -> np.ndarray:
    """Any values as `Labels`; text that stands for a gap is one."""
    cells: list[Any] = values.tolist()
    plain = [without_blanks(cell) if isinstance(cell, str) else cell for cell in cells]
    return as_labels(np.fromiter(plain, dtype=object, count=len(plain)))
