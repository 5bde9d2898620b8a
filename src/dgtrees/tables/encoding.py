"""Column: how one input column becomes numbers, learnt from its values and written to files.

Four kinds: numbers; categories, as columns of 0 and 1 and, where there are too many of them, as
target statistics (`target_statistics`); dates, as the parts of them that vary; and columns that are
not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dgtrees.schema import Check, choice, flag, items, number, record, shown, text
from dgtrees.tables.bending import bend, unbend
from dgtrees.tables.dates import ORDERS, PARTS, parts_of, to_dates
from dgtrees.tables.frames import MISSING, as_labels
from dgtrees.tables.text_values import to_numbers, without_blanks

__all__ = [
    "CATEGORY",
    "COLUMN",
    "DATE",
    "NUMBER",
    "UNUSED",
    "Column",
    "label_weights",
    "learn_date",
    "learn_number",
    "weighted_median",
]

NUMBER, CATEGORY, DATE, UNUSED = "number", "category", "date", "unused"

_ALWAYS: dict[str, Check] = {
    "name": text(),
    "kind": choice(NUMBER, CATEGORY, DATE, UNUSED),
    "median": number(),
    "indicator": flag,
    "categories": items(text()),
    "other": flag,
}
_SINCE: dict[str, Check] = {
    "pooled": items(text()),
    "outputs": items(text()),
    "means": items(items(number())),
    "order": choice(*ORDERS),
    "parts": items(choice(*PARTS)),
    "medians": items(number()),
    "bent": items(number(), 2, 2),
    "beside": flag,
    "from_center": items(number(), 1, 1),
    "reach": items(number(), 2, 2),
}
"""Fields that files have only where a column needs them; those of the first release have none."""


def COLUMN(value: Any, name: str) -> None:  # noqa: N802 - a check like the others
    """Check what a column is in a model file."""
    since = {key: _SINCE[key] for key in value if key in _SINCE} if isinstance(value, dict) else {}
    record(_ALWAYS | since)(value, name)


@dataclass(frozen=True)
class Column:
    """How one input column becomes numbers.

    Parameters
    ----------
    median, indicator
        What stands for a missing number, and whether a column says where the gaps were.
    categories, other
        Values with a column of 0 and 1 of their own, and whether there is one for all others.
    pooled, outputs, means
        Values without such a column, names of the statistics that tell them apart, and these:
        a row for each of `categories`, each of `pooled`, and for values that are neither.
    order, parts, medians
        Order of day, month and year in text; parts that vary; what stands for a missing one.
    bent
        Centre and spread by which numbers are bent (`bending`); none where they are as they are.
    beside
        Whether bent numbers stand beside the numbers themselves, and not in their place.
    from_center
        A centre whose distance from the number stands beside it; none where no distance does.
    reach
        Lowest and highest number that training can speak of; what lies beyond is taken for these.
    """

    name: str
    kind: str = NUMBER
    median: float = 0.0
    indicator: bool = False
    categories: tuple[str, ...] = ()
    other: bool = False
    pooled: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    means: tuple[tuple[float, ...], ...] = ()
    order: str = "ymd"
    parts: tuple[str, ...] = ()
    medians: tuple[float, ...] = ()
    bent: tuple[float, ...] = ()
    beside: bool = False
    from_center: tuple[float, ...] = ()
    reach: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """Encoded columns it takes."""
        return len(self.names())

    def names(self) -> list[str]:
        """Names of its encoded columns, as rules and pictures show them."""
        gaps = [f"{self.name} is missing"] if self.indicator else []
        if self.kind == NUMBER:
            own = [] if self.bent and not self.beside else [self.name]
            own += [self.bent_name] if self.bent else []
            return own + ([self.distance_name] if self.from_center else []) + gaps
        values = [f"{self.name}={value}" for value in self.categories]
        values += [f"{self.name}=(other)"] if self.other else []
        values += [f"{self.name}: {output}" for output in self.outputs]
        return values + [f"{self.name} {part}" for part in self.parts] + gaps

    @property
    def bent_name(self) -> str:
        """Name of its bent numbers."""
        return f"log({self.name})"

    @property
    def distance_name(self) -> str:
        """Name of the distances from its centre."""
        center = self.from_center[0]
        away = f" {'-' if center > 0 else '+'} {abs(center):.4g}" if center else ""
        return f"|{self.name}{away}|"

    @property
    def labels(self) -> tuple[str, ...]:
        """All values that are known, in the order of the rows of `table`."""
        return self.categories + self.pooled

    @cached_property
    def table(self) -> np.ndarray:
        """What a category becomes: a row for each of `labels`, and one for any other value."""
        own = len(self.categories)
        plain = np.eye(own + 1, own + self.other)
        plain = plain[np.minimum(np.arange(len(self.labels) + 1), own)]
        return np.hstack([plain, np.array(self.means)]) if self.outputs else plain

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @property
    def typical(self) -> np.ndarray:
        """A typical row: medians, no gaps, and of a category all values in equal shares."""
        if self.kind == NUMBER:
            return np.array([*self._numbers(np.array(self.median))] + [0.0] * self.indicator)
        if self.kind == DATE:
            return np.array([*self.medians] + [0.0] * self.indicator)
        own = len(self.categories) + self.other
        means = self.means[-1] if self.outputs else ()
        return np.array([1.0 / max(own, 1)] * own + [*means])

    def expand(self, values: np.ndarray) -> np.ndarray:
        """Values (rows,) as encoded rows (rows, width)."""
        if self.kind == NUMBER:
            return self.expand_numbers(to_numbers(values, self.name))
        if self.kind == CATEGORY:
            return np.asarray(self.table[self.codes(values)])
        if self.kind == DATE:
            return self._expand_dates(parts_of(to_dates(values, self.name, self.order)))
        return np.empty((len(values), 0))

    def expand_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """`expand` for floats of a column of numbers, or of one that is not used."""
        if self.kind == UNUSED:
            return np.empty((len(numbers), 0))
        missing = np.isnan(numbers)
        # Widened first: a row of float32 gets the same median as one of float64.
        filled = np.where(missing, self.median, numbers.astype(np.float64))
        if self.reach:
            filled = np.clip(filled, self.reach[0], self.reach[1])
        return np.stack(self._numbers(filled) + [missing] * self.indicator, axis=1)

    def _numbers(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Numbers as they are, bent, or both; and distances from a centre."""
        distances = [np.abs(numbers - center) for center in self.from_center]
        if not self.bent:
            return [numbers, *distances]
        return [numbers] * self.beside + [bend(numbers, *self.bent), *distances]

    def unbend(self, number: float) -> float:
        """The number that an encoded one stands for."""
        return unbend(number, *self.bent) if self.bent else number

    def _expand_dates(self, parts: Mapping[str, np.ndarray]) -> np.ndarray:
        missing = np.isnan(parts["year"])
        pairs = zip(self.parts, self.medians, strict=True)
        found = [np.where(missing, median, parts[part]) for part, median in pairs]
        found += [missing.astype(np.float64)] if self.indicator else []
        return np.stack(found, axis=1) if found else np.empty((len(missing), 0))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """For every row, the number of its category in `labels`, or their number for another."""
        cells = as_labels(values).tolist()
        known = {cell: self._code(cell) for cell in set(cells)}
        return np.fromiter((known[cell] for cell in cells), dtype=np.intp, count=len(cells))

    def _code(self, label: str) -> int:
        """A label as it is, if training knew it so; otherwise without blanks, or as a gap."""
        if label not in self._codes:
            label = without_blanks(label) or MISSING
        return self._codes.get(label, len(self._codes))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; of the later fields only those that say something."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {name: _listed(value) for name, value in found.items()}
        unsaid = {f.name for f in fields(self) if f.name in _SINCE and found[f.name] == f.default}
        return {name: value for name, value in plain.items() if name not in unsaid}

    @classmethod
    def from_json(cls, column: dict[str, Any]) -> Column:
        """The column that `to_json` described; refuses what it cannot have described."""
        COLUMN(column, "column")
        found = cls(**{name: _tupled(value) for name, value in column.items()})
        if not found._fits():
            raise ValueError(
                f"a column must have what a {found.kind} has, and its categories in order, "
                f"got {shown(column)}"
            )
        return found

    def _fits(self) -> bool:
        """Whether the fields are those of one kind, and agree."""
        known = bool(self.labels or self.other or self.outputs or self.means)
        dated = bool(self.parts or self.medians or self.order != "ymd")
        if self.kind == NUMBER:
            return not (known or dated) and self._numbers_fit()
        if self.bent or self.beside or self.from_center or self.reach:
            return False
        if self.kind == DATE:
            in_order = [part for part in PARTS if part in self.parts] == list(self.parts)
            return not (known or self.median) and in_order and len(self.medians) == len(self.parts)
        if dated or self.median or self.indicator:
            return False
        if self.kind == UNUSED:
            return not known
        sets = (self.categories, self.pooled)
        in_order = all(list(labels) == sorted(set(labels)) for labels in sets)
        sizes = {len(row) for row in self.means} <= {len(self.outputs)}
        rows = len(self.labels) + 1 if self.outputs else 0
        apart = not set(self.categories) & set(self.pooled)
        pooled = self.other if self.outputs else not self.pooled
        all_fit = in_order and sizes and len(self.means) == rows and apart and pooled
        return bool(self.categories) and all_fit

    def _numbers_fit(self) -> bool:
        """Whether what is said of numbers can be."""
        positive = self.bent[1] > 0.0 if self.bent else not self.beside
        low, high = self.reach or (self.median, self.median)
        positive = positive and not (self.bent and self.from_center)
        return positive and low <= self.median <= high


def learn_number(name: str, values: np.ndarray, weight: np.ndarray) -> Column:
    """The column for numbers (rows,) of some weight each."""
    median, gaps = _median_and_gaps(values, weight)
    return Column(name, median=median, indicator=gaps)


def learn_date(name: str, dates: np.ndarray, weight: np.ndarray, order: str = "ymd") -> Column:
    """The column for dates (rows,); parts that never change are left out."""
    parts = parts_of(dates)
    varying = [part for part in PARTS if len(np.unique(parts[part][~np.isnat(dates)])) > 1]
    medians = tuple(_median_and_gaps(parts[part], weight)[0] for part in varying)
    gaps = bool(np.isnat(dates).any())
    return Column(name, DATE, 0.0, gaps, order=order, parts=tuple(varying), medians=medians)


def _median_and_gaps(values: np.ndarray, weight: np.ndarray) -> tuple[float, bool]:
    present = ~np.isnan(values)
    median = weighted_median(values[present], weight[present]) if present.any() else 0.0
    return median, not present.all()


def label_weights(labels: np.ndarray, weight: np.ndarray) -> dict[str, float]:
    """Different labels, and what their rows weigh together."""
    # Not np.unique: it would copy every value at the length of the longest.
    cells = labels.tolist()
    distinct = sorted(set(cells))
    number = {label: i for i, label in enumerate(distinct)}
    group = np.fromiter((number[cell] for cell in cells), dtype=np.intp, count=len(cells))
    total = np.bincount(group, weights=weight, minlength=len(distinct))
    return dict(zip(distinct, total.tolist(), strict=True))


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The value with half of the weight on either side, or the middle of two such."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    half = below[-1] / 2.0
    low = int(np.searchsorted(below, half, side="left"))
    high = int(np.searchsorted(below, half, side="right"))
    # Halves before adding: two huge values must not overflow.
    return float(values[order[low]] / 2.0 + values[order[min(high, len(values) - 1)]] / 2.0)


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
