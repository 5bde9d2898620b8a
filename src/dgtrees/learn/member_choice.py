"""What the members of a forest are, chosen once: by rows that a few trial trees have not seen.

A plan is judged by the squared error that a forest of very many such trees would have. That of few
trees is larger by their scatter, which company takes away; the mean product of the errors of two
different trees, on a row that neither has seen, has no such part. Class shares are judged after
they have been stretched, away from the shares of the whole table, by the factor that suits them
best: shares that are too even can be sharpened later (`learn.sharpening`), while those that are
wrong stay wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import softmax

from dgtrees.learn.linear import PENALTIES, linear_models
from dgtrees.learn.members import MemberPlan, MemberRows, draw, grow_standard
from dgtrees.learn.pair_errors import PairErrors
from dgtrees.learn.threads import one_thread

__all__ = ["MemberChoice", "Trial", "choose_members", "first_plans", "try_member"]

_FIRST_TRIALS, _TRIALS = 8, 20
"""Trees with which every plan begins, and trees of the best."""

_FEW_ROWS, _MORE_TRIALS = 1000, 40
"""With fewer rows than these every plan has so many trees: rows tell less, and trees are small."""

_LARGER_LEAVES = (3, 10)
_MOST_WIDTH = 32
_WIDE = 500
"""Columns beyond which linear functions are not tried: they would take longer than the trees."""

_SHARE = 1.0
"""Rows that a trial tree draws."""


@dataclass
class MemberChoice:
    """What was tried, its error on rows that trial trees had not seen, and what was kept."""

    errors: dict[MemberPlan, float] = field(default_factory=dict)
    plan: MemberPlan = field(default_factory=lambda: MemberPlan(1))

    def __str__(self) -> str:
        """What was tried, the best first, one per line."""
        lines = ["out-of-bag error   what"]
        for plan in sorted(self.errors, key=lambda plan: self.errors[plan]):
            kept = "  <- kept" if plan == self.plan else ""
            lines.append(f"{self.errors[plan]:16.5f}   {plan}{kept}")
        return "\n".join(lines)

    __repr__ = __str__

    def best(self) -> MemberPlan:
        """Of equals the first."""
        return min(self.errors, key=lambda plan: self.errors[plan])


@dataclass(frozen=True)
class Trial:
    """What trial trees have in common: rows, and held-out ones to judge by, if there are any."""

    rows: MemberRows
    max_leaves: int | None
    held: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    """Standardised rows, targets and weights."""


def try_member(trial: Trial, task: tuple[MemberPlan, int]) -> tuple[np.ndarray, np.ndarray]:
    """Grow a trial tree; rows that it has not seen, and what it says of them, kept in range."""
    plan, seed = task
    rows = trial.rows
    mass = draw(rows, _SHARE, seed)
    with one_thread():
        tree, _, linear = grow_standard(rows, plan, mass, trial.max_leaves, seed)
        unseen = np.flatnonzero(mass == 0) if trial.held is None else np.arange(len(trial.held[0]))
        X = rows.X[unseen] if trial.held is None else trial.held[0]
        outputs = tree.predict(X, n_threads=1)
        if rows.n_classes:
            return unseen, softmax(outputs, axis=1)
        if linear is not None:
            outputs = outputs + linear.predict(X.astype(np.float64))
    return unseen, np.clip(outputs, rows.target.min(axis=0), rows.target.max(axis=0))


def first_plans(d: int, classification: bool, penalties: list[float | None]) -> list[MemberPlan]:
    """Plans that every forest tries: columns alone, and with directions of few or more columns."""
    root, half, most = max(1, int(np.sqrt(d))), (d + 1) // 2, min(d, _MOST_WIDTH)
    if classification:
        plans = [MemberPlan(root), MemberPlan(min(d, 2 * root))]
        oblique = [MemberPlan(half, 4, 2), MemberPlan(root, 8, 4), MemberPlan(root, 8, most)]
    else:
        plans = [MemberPlan(max(1, 2 * d // 3))]
        oblique = [MemberPlan(half, 4, 2), MemberPlan(half, 6, most)]
    if d > 1:
        plans += [replace(plan, width=min(plan.width, d)) for plan in oblique]
    every = [replace(plan, penalty=penalty) for penalty in penalties for plan in plans]
    return list(dict.fromkeys(every))


def choose_members(
    trial: Trial,
    leaf: str,
    seeds: Callable[[int], list[int]],
    run: Callable[[list[tuple[MemberPlan, int]]], list[tuple[np.ndarray, np.ndarray]]],
) -> MemberChoice:
    """Find the plan for a forest; see the module docstring.

    Parameters
    ----------
    leaf : "auto", "constant" or "linear"
        Whether trees may, or must, stand beside linear functions.
    seeds : callable(number)
        Seeds of so many trial trees.
    run : callable
        `try_member` of many tasks, in order.
    """
    rows, choice = trial.rows, MemberChoice()
    few = len(rows) < _FEW_ROWS
    numbers = seeds(_MORE_TRIALS if few else _TRIALS)
    first = _MORE_TRIALS if few else _FIRST_TRIALS
    target, weight = rows.target, _weight(rows)
    if trial.held is not None:
        _, target, weight = trial.held
    judges: dict[MemberPlan, PairErrors] = {}
    complete: set[MemberPlan] = set()

    def ask(plans: list[MemberPlan], seeds: list[int]) -> None:
        said = run([(plan, seed) for plan in plans for seed in seeds])
        for at, plan in enumerate(plans):
            errors = judges.setdefault(plan, PairErrors(target))
            for unseen, outputs in said[at * len(seeds) : (at + 1) * len(seeds)]:
                errors.add(unseen, outputs)
            choice.errors[plan] = errors.mean(weight, stretched=rows.n_classes > 0)

    def best_with(plans: list[MemberPlan]) -> MemberPlan:
        """The best so far, of these plans too; luck with few trees does not make it."""
        ask(plans, numbers[:first])
        while (best := choice.best()) not in complete:
            ask([best], numbers[first:])
            complete.add(best)
        return best

    penalties: list[float | None] = [None]
    if not rows.n_classes and (leaf == "linear" or (leaf == "auto" and rows.width <= _WIDE)):
        found = _best_penalty(trial, numbers)
        penalties = [found] if leaf == "linear" else [None, found]
    best = best_with(first_plans(rows.width, rows.n_classes > 0, penalties))
    while untried := [plan for plan in _near(best, rows.width) if plan not in choice.errors]:
        best = best_with(untried)
    choice.plan = best
    return choice


def _near(plan: MemberPlan, d: int) -> list[MemberPlan]:
    """The plan with more columns, and with larger leaves."""
    larger = [least for least in _LARGER_LEAVES if least > plan.min_rows]
    more = [replace(plan, columns=min(d, 2 * plan.columns))]
    return more + [replace(plan, min_rows=least) for least in larger[:1]]


def _weight(rows: MemberRows) -> np.ndarray:
    return rows.weight if rows.emphasis is None else rows.weight * rows.emphasis


def _best_penalty(trial: Trial, seeds: list[int]) -> float:
    """The penalty of bagged linear functions without any trees."""
    rows = trial.rows
    X = rows.X.astype(np.float64)
    held = None if trial.held is None else trial.held[0].astype(np.float64)
    target, weight = rows.target, _weight(rows)
    if trial.held is not None:
        _, target, weight = trial.held
    errors = [PairErrors(target) for _ in PENALTIES]
    low, high = rows.target.min(axis=0), rows.target.max(axis=0)
    with one_thread():
        for seed in seeds:
            mass = draw(rows, _SHARE, seed)
            drawn = np.flatnonzero(mass)
            unseen = np.flatnonzero(mass == 0) if held is None else np.arange(len(held))
            judged = X[unseen] if held is None else held
            models = linear_models(X[drawn], rows.target[drawn], mass[drawn], PENALTIES, False)
            for model, error in zip(models, errors, strict=True):
                error.add(unseen, np.clip(model.predict(judged), low, high))
    return PENALTIES[int(np.argmin([error.mean(weight) for error in errors]))]
