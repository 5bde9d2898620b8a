"""Means over seeds, and the unpaired t-test at the paper's level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

LEVEL = 0.05
_PAPER_RUNS = 10


@dataclass(frozen=True)
class Summary:
    """Mean and deviation of some runs."""

    mean: float
    sd: float
    n: int
    seeds: tuple[int, ...] = ()

    def text(self, digits: int) -> str:
        """As a table shows it."""
        spread = f" ± {self.sd:.{digits}f}" if self.n > 1 else ""
        return f"{self.mean:.{digits}f}{spread}"

    def runs(self) -> str:
        """How many seeds, or which, where they are not the first ones."""
        if self.seeds == tuple(range(self.n)):
            return str(self.n)
        return "seeds " + ", ".join(map(str, self.seeds))


def summarise(values: Sequence[float], seeds: Sequence[int] = ()) -> Summary:
    """Summarise one number per run; the deviation is the sample's.

    >>> summarise([1.0, 2.0, 3.0])
    Summary(mean=2.0, sd=1.0, n=3, seeds=())
    """
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Summary(float(np.mean(values)), spread, len(values), tuple(seeds))


def summarise_records(records: list[dict[str, Any]]) -> Summary | None:
    """Of the test scores; None where there are none, or where a run has diverged."""
    scores = [record["scores"]["test"] for record in records]
    if not scores or None in scores:
        return None
    return summarise(scores, [record["seed"] for record in records])


def summarise_published(figure: Sequence[float] | None) -> Summary | None:
    """A mean and deviation of the paper's."""
    return None if figure is None else Summary(figure[0], figure[1], _PAPER_RUNS)


def p_value(a: Summary, b: Summary) -> float | None:
    """Of Student's unpaired t-test; None where a side has a single run."""
    if a.n < 2 or b.n < 2:
        return None
    if a.sd == 0.0 and b.sd == 0.0:  # runs without chance: any difference is one
        return 1.0 if a.mean == b.mean else 0.0
    return float(stats.ttest_ind_from_stats(a.mean, a.sd, a.n, b.mean, b.sd, b.n).pvalue)


def compare(a: Summary, b: Summary, metric: str) -> str | None:
    """Whether a is "better" than b, "worse", or "level" at the level of significance."""
    p = p_value(a, b)
    if p is None:
        return None
    if p >= LEVEL:
        return "level"
    return "better" if (a.mean < b.mean) == (metric == "rmse") else "worse"


def find_best(found: dict[str, Summary], metric: str) -> set[str]:
    """The best of several, and those that it is not significantly better than; none of one."""
    if len(found) < 2:
        return set()
    sign = 1.0 if metric == "rmse" else -1.0
    first = min(found, key=lambda name: sign * found[name].mean)
    level = {n for n, s in found.items() if compare(found[first], s, metric) == "level"}
    return {first} | level


def half_interval(values: np.ndarray) -> np.ndarray:
    """Half of the 95 % confidence interval of the mean over runs, (runs, points) -> (points,)."""
    runs = len(values)
    if runs < 2:
        return np.zeros(values.shape[1])
    half: np.ndarray = stats.t.ppf(0.975, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return half
