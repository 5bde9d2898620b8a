"""Dates in an ONNX graph: seconds since 1970-01-01 00:00 become the parts that vary.

The same whole numbers as `tables.dates.parts_of` finds, computed in float64, where they are exact.
"""

from __future__ import annotations

import numpy as np

from dgtrees.model.onnx_graph import Graph
from dgtrees.tables.encoding import Column

__all__ = ["add_dates"]


def add_dates(graph: Graph, column: Column, seconds: str) -> str:
    """Encoded columns (rows, width) of a date (rows, 1), NaN for a gap; there is at least one."""
    missing = graph.add("IsNaN", seconds)
    present = graph.add("Where", missing, graph.constant(0.0), seconds)
    parts = _Arithmetic(graph).parts(present)
    blocks = []
    for part, median in zip(column.parts, column.medians, strict=True):
        blocks.append(graph.add("Where", missing, graph.constant(median), parts[part]))
    if column.indicator:
        blocks.append(graph.cast(missing, "DOUBLE"))
    return graph.add("Concat", *blocks, axis=1)


class _Arithmetic:
    """Whole numbers as nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def number(self, value: float) -> str:
        return self.graph.constant(np.float64(value))

    def plus(self, a: str, value: float) -> str:
        return self.graph.add("Add", a, self.number(value))

    def times(self, a: str, value: float) -> str:
        return self.graph.add("Mul", a, self.number(value))

    def minus(self, a: str, b: str) -> str:
        return self.graph.add("Sub", a, b)

    def quotient(self, a: str, value: float) -> str:
        return self.graph.add("Floor", self.graph.add("Div", a, self.number(value)))

    def rest(self, a: str, value: float) -> str:
        return self.minus(a, self.times(self.quotient(a, value), value))

    def parts(self, seconds: str) -> dict[str, str]:
        day = self.quotient(seconds, 86400)
        z = self.plus(day, 719468)  # years begin in March, eras of 400 years in the year 0
        doe = self.rest(z, 146097)
        leaps = self.minus(self.quotient(doe, 36524), self.quotient(doe, 1460))
        leaps = self.minus(leaps, self.quotient(doe, 146096))
        yoe = self.quotient(self.graph.add("Add", doe, leaps), 365)
        days = self.graph.add("Add", self.times(yoe, 365), self.quotient(yoe, 4))
        doy = self.minus(doe, self.minus(days, self.quotient(yoe, 100)))
        mp = self.quotient(self.plus(self.times(doy, 5), 2), 153)
        late = self.graph.cast(self.graph.add("GreaterOrEqual", mp, self.number(10)), "DOUBLE")
        year = self.graph.add("Add", yoe, self.times(self.quotient(z, 146097), 400))
        return {
            "year": self.graph.add("Add", year, late),
            "month": self.minus(self.plus(mp, 3), self.times(late, 12)),
            "weekday": self.rest(self.plus(day, 3), 7),
            "hour": self.quotient(self.rest(seconds, 86400), 3600),
        }
