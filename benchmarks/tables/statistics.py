"""Ranks, paired comparisons and costs, from the records of one suite.

All works on losses, which are better when they are smaller: the share of test rows that are wrong,
or the error of a target of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.05


def losses(found: pd.DataFrame, of: str = "score") -> pd.DataFrame:
    """Losses by table and seed, one column a model.

    Parameters
    ----------
    found : DataFrame
        Records of one suite.
    of : {"score", "log_loss"}
        What to look at; tables that have no such thing are left out.

    Returns
    -------
    DataFrame of shape (tables and seeds, models), NaN where there is no record
    """
    value = found[of].astype(float)
    if of == "score":
        value = value.where(found["task"] == "reg", 1.0 - value)
    wide = found.assign(loss=value).pivot(index=["table", "seed"], columns="model", values="loss")
    return wide.dropna(how="all")


def complete(wide: pd.DataFrame) -> list[str]:
    """Models with a record of every table: the others cannot be ranked beside them."""
    tables = wide.groupby(level="table").count() > 0
    return [model for model in wide.columns if tables[model].all()]


def means(wide: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Mean loss of these models by table, over the seeds that all of them have."""
    return wide[models].dropna().groupby(level="table").mean()


def ranks(mean: pd.DataFrame) -> pd.DataFrame:
    """Rank of every model on every table: 1 is the best, equal models share theirs."""
    return mean.rank(axis=1)


def critical_difference(models: int, tables: int) -> float:
    """Mean ranks further apart than this differ, by Nemenyi's test at `LEVEL`.

    >>> round(critical_difference(5, 30), 2)  # Demsar 2006 has q = 2.728
    1.11
    """
    q = stats.studentized_range.ppf(1.0 - LEVEL, models, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(models * (models + 1) / (6.0 * tables)))


def cliques(mean_ranks: pd.Series, difference: float) -> list[list[str]]:
    """The largest groups of models within one critical difference, best first.

    >>> cliques(pd.Series({"a": 1.0, "b": 1.5, "c": 2.2}), 1.0)
    [['a', 'b'], ['b', 'c']]
    """
    order = mean_ranks.sort_values()
    groups: list[list[str]] = []
    for first, start in order.items():
        group = [name for name, r in order.items() if start <= r <= start + difference]
        group = group[group.index(first) :]
        if len(group) > 1 and not any(set(group) <= set(before) for before in groups):
            groups.append(group)
    return groups


def compare(ours: pd.Series, theirs: pd.Series) -> str | None:
    """Whether a loss is "better" than another, "level" or "worse", by a paired t-test over seeds.

    None where they share fewer than two seeds.
    """
    gap = (ours - theirs).dropna().to_numpy()
    if len(gap) < 2:
        return None
    if np.ptp(gap) < 1e-12:  # the same in every seed: no chance in it, and no t
        p = 1.0 if abs(gap[0]) < 1e-12 else 0.0
    else:
        p = float(stats.ttest_1samp(gap, 0.0).pvalue)
    if p >= LEVEL:
        return "level"
    return "better" if gap.mean() < 0 else "worse"


@dataclass(frozen=True)
class Duel:
    """One model against another.

    Parameters
    ----------
    verdicts : dict
        Tables by "better", "level" and "worse"; without those that share too few seeds.
    gap : Series
        Mean loss of the one minus that of the other by table, over the seeds that both have.
    """

    verdicts: dict[str, list[str]]
    gap: pd.Series


def duel(wide: pd.DataFrame, ours: str, theirs: str) -> Duel:
    """Compare two columns of `losses`, table by table."""
    both = wide[[ours, theirs]].dropna()
    verdicts: dict[str, list[str]] = {"better": [], "level": [], "worse": []}
    for table, part in both.groupby(level="table"):
        verdict = compare(part[ours], part[theirs])
        if verdict:
            verdicts[verdict].append(table)
    gap = (both[ours] - both[theirs]).groupby(level="table").mean().sort_values()
    return Duel(verdicts, gap)


def costs(found: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds of a fit by model, over tables, and as multiples of the forest's.

    Returns
    -------
    DataFrame by model
        median, mean, worst (seconds), worst_table; times_median, times_worst,
        times_worst_table: the same as multiples of the forest in the same run.
    """
    times = found["cpu_seconds"] / found["forest_seconds"]
    by_table = (
        found.assign(times=times).groupby(["model", "table"])[["cpu_seconds", "times"]].mean()
    )
    rows = {}
    for model, part in by_table.groupby(level="model"):
        part = part.droplevel("model")
        rows[model] = {
            "median": part["cpu_seconds"].median(),
            "mean": part["cpu_seconds"].mean(),
            "worst": part["cpu_seconds"].max(),
            "worst_table": part["cpu_seconds"].idxmax(),
            "times_median": part["times"].median(),
            "times_worst": part["times"].max(),
            "times_worst_table": part["times"].idxmax(),
        }
    return pd.DataFrame.from_dict(rows, orient="index")
