"""Choice: which plans were tried, what they lost on held-out rows, and which one was kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dgtrees.learn.plans import Plan

__all__ = ["Choice"]


@dataclass
class Choice:
    """What was tried, how it scored on held-out rows, and what was kept.

    `losses` has a number for every fold that a plan was judged by, beginning with the first.
    """

    losses: dict[Plan, list[float]] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)

    def score(self, plan: Plan, folds: int | None = None) -> float:
        """Mean loss over the first folds, or over all that it was judged by."""
        return float(np.mean(self.losses[plan][:folds]))

    def __str__(self) -> str:
        """The best plan of every kind, one a line, and what was kept."""
        kinds: dict[tuple, Plan] = {}
        for plan in self.losses:
            kind = plan.penalty is None, plan.max_leaves > 1, plan.epochs > 0, plan.max_depth > 0
            best = kinds.setdefault(kind, plan)
            # Those of fewer folds may have lower means: what was kept is shown all the same.
            if plan == self.plan or (best != self.plan and self.score(plan) < self.score(best)):
                kinds[kind] = plan
        lines = ["held-out loss   folds  what"]
        for plan in sorted(kinds.values(), key=self.score):
            kept = "  <- kept" if plan == self.plan else ""
            lines.append(f"{self.score(plan):13.4f}   {len(self.losses[plan]):5d}  {plan}{kept}")
        return "\n".join(lines)

    __repr__ = __str__

    def best(self, wanted: Callable[[Plan], bool], folds: int) -> Plan:
        """The best of the plans that were judged by so many folds; of equals the first."""
        found = [p for p, told in self.losses.items() if len(told) >= folds and wanted(p)]
        return min(found, key=lambda plan: self.score(plan, folds))
