"""Choice of a bag tree: held-out bags decide what a row's score is and how scores are pooled.

Linear scores are tried first, with and without distances from the means, by both poolings and
with several penalties. Trees of a few leaves come next, alone and beside the best linear score,
and are given up where they are behind on the first folds. Where linear scores are best, those that
are about as good are averaged (`learn.bag_average`): a mean of linear scores is one, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import PENALTIES, BagPlan, fit_path, fit_plan
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["LEAVES", "BagChoice", "choose_bag_plan", "folds_of_bags"]

_FOLDS = 5
_ONCE = 5_000
"""Below so many rows, bags are cut into folds twice."""

_UNJUDGED = 0.1
"""Penalty of linear scores where there are too few bags to hold some out."""

_BEHIND = 0.02
"""What a tree may be behind after one fold, and half of it after two, and is still tried."""

_AHEAD = 0.01
"""What "max" must be ahead of "sum": it learns from fewer rows, and folds flatter it by chance."""

_UNLIKELY = 0.01
"""Plans of a lower share are left out of an average."""

LEAVES = 8
"""Leaves of trees that are tried first; where one is best, half and twice as many are, too."""

Sides = dict[bool, BagTable]
"""The same bags without distances (False) and, where there are any, with them (True)."""


@dataclass
class BagChoice:
    """What was tried, its Brier score on every fold of held-out bags, and what was kept.

    `averaged` is how many plans the model is the average of: the best, and others like it.
    """

    losses: dict[BagPlan, list[float]] = field(default_factory=dict)
    plan: BagPlan = field(default_factory=lambda: BagPlan("sum", _UNJUDGED))
    averaged: int = 1

    def score(self, plan: BagPlan, folds: int | None = None) -> float:
        """Mean Brier score over the first folds, or over all that it was judged by."""
        return float(np.mean(self.losses[plan][:folds]))

    def best(self, folds: int) -> BagPlan:
        """The best of what was judged by so many folds; of equals the first."""
        judged = [plan for plan, told in self.losses.items() if len(told) >= folds]
        return min(judged, key=lambda plan: self.score(plan) + _AHEAD * (plan.pooling == "max"))

    def shares(self, bags: int) -> dict[BagPlan, float]:
        """How likely every plan is that pools as the best one does, by its score on so many bags.

        Only those of the best one's kind: linear scores, or trees of one size. Unlikely ones are
        left out. The best alone where nothing was judged.
        """
        if self.plan not in self.losses:
            return {self.plan: 1.0}
        best = self.plan
        alike = [
            plan
            for plan, told in self.losses.items()
            if (plan.pooling, plan.max_leaves) == (best.pooling, best.max_leaves)
            and len(told) == len(self.losses[best])
        ]
        weight = np.exp([bags * (self.score(best) - self.score(plan)) for plan in alike])
        weight[weight < _UNLIKELY * weight.sum()] = 0.0
        alike = [plan for plan, likely in zip(alike, weight > 0, strict=True) if likely]
        weight = weight[weight > 0]
        return dict(zip(alike, (weight / weight.sum()).tolist(), strict=True))

    def __str__(self) -> str:
        """The best plan of every kind, one a line, and what was kept."""
        kinds: dict[tuple, BagPlan] = {}
        for plan in sorted(self.losses, key=lambda plan: (plan != self.plan, self.score(plan))):
            kind = plan.pooling, plan.distances, plan.max_leaves > 1, plan.penalty is None
            kinds.setdefault(kind, plan)
        lines = ["held-out Brier score   folds  what"]
        for plan in sorted(kinds.values(), key=self.score):
            kept = f"  <- kept{self._company()}" if plan == self.plan else ""
            lines.append(f"{self.score(plan):20.4f}   {len(self.losses[plan]):5d}  {plan}{kept}")
        return "\n".join(lines)

    def _company(self) -> str:
        others = self.averaged - 1
        return f", averaged with {others} like it" if others > 0 else ""


def choose_bag_plan(
    sides: Sides, poolings: tuple[str, ...], leaf: str, max_leaves: int | None, seed: int
) -> BagChoice:
    """Try what may be tried, and keep what predicts held-out bags best.

    Parameters
    ----------
    leaf : {"auto", "constant", "linear"}
    max_leaves : int, optional
        Most leaves of a tree; 1 for linear scores alone.
    """
    choice = BagChoice()
    most = LEAVES if max_leaves is None else min(LEAVES, max_leaves)
    table = sides[False]
    cuts = 2 if len(table.X) < _ONCE else 1
    parts = [part for cut in range(cuts) for part in folds_of_bags(table.label, seed + cut)]
    trees = [BagPlan(pooling, None, most) for pooling in poolings]
    if not parts:
        choice.plan = trees[0] if leaf == "constant" else replace(choice.plan, pooling=poolings[0])
        return choice
    if leaf != "constant":
        for side in sides:
            for pooling in poolings:
                path = [BagPlan(pooling, penalty, 1, side) for penalty in PENALTIES]
                for learn, held in parts:
                    found = fit_path(sides[side].take(learn), path)
                    for plan, tree in zip(path, found, strict=True):
                        _note(choice, plan, tree, sides[side].take(held))
        beside = replace(choice.best(len(parts)), max_leaves=most)
        trees = [beside, *(trees if leaf == "auto" else [])]
    for plan in trees if most > 1 else []:
        _try(choice, plan, sides[plan.distances], parts, seed)
    choice.plan = choice.best(len(parts))
    if choice.plan.max_leaves > 1:
        for leaves in (most // 2, 2 * most):
            if leaves > 1 and (max_leaves is None or leaves <= max_leaves):
                plan = replace(choice.plan, max_leaves=leaves)
                _try(choice, plan, sides[plan.distances], parts, seed)
        choice.plan = choice.best(len(parts))
    return choice


def _try(
    choice: BagChoice,
    plan: BagPlan,
    table: BagTable,
    parts: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
) -> None:
    """Judge a plan by all folds, or by the first ones where it is behind."""
    for number, (learn, held) in enumerate(parts):
        judged = [p for p, told in choice.losses.items() if len(told) == len(parts)]
        if number and judged:
            best = min(choice.score(p, number) for p in judged)
            if choice.score(plan, number) > best + _BEHIND / number:
                return
        _note(choice, plan, fit_plan(table.take(learn), plan, seed), table.take(held))


def _note(choice: BagChoice, plan: BagPlan, tree: ObliqueTree, held: BagTable) -> None:
    scores = held.bags.pool(tree.predict(held.X)[:, 1], plan.pooling)
    told = np.mean(np.square(expit(scores) - held.label))
    choice.losses.setdefault(plan, []).append(float(told))


def folds_of_bags(label: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bags to learn from and to judge by, with both labels spread over the folds.

    None where a label has one bag only: it would be missing on one of the sides.
    """
    count = min(_FOLDS, int(np.bincount(label, minlength=2).min()))
    if count < 2:
        return []
    order = np.random.default_rng([seed, 11]).permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    parts = []
    for start in range(count):
        held = np.sort(order[start::count])
        parts.append((np.setdiff1d(order, held), held))
    return parts
