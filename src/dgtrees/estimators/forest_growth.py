"""Members of a forest through joblib: the choice of what they are, and growing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dgtrees.estimators.callbacks import progress_bar
from dgtrees.estimators.out_of_bag import tree_seed
from dgtrees.estimators.parallel import run
from dgtrees.learn.member_choice import MemberChoice, Trial, choose_members, try_member
from dgtrees.learn.members import Member, MemberRows
from dgtrees.tables.examples import Examples

__all__ = ["choose_plan", "grow_all"]


def choose_plan(
    rows: MemberRows,
    validation: Examples | None,
    leaf: str,
    max_leaves: int | None,
    seed: int,
    n_jobs: int | None,
) -> MemberChoice:
    """What the members are, by rows that trial trees have not seen, or by validation rows."""
    held = None
    if validation is not None:
        X = rows.standard.inputs(validation.X)
        held = X, rows.standard.targets(validation), validation.weight
    trial = Trial(rows, max_leaves, held)
    return choose_members(
        trial,
        leaf,
        lambda count: [tree_seed(seed, number) for number in range(count)],
        lambda tasks: run(try_member, (trial,), tasks, n_jobs),
    )


def grow_all(
    function: Callable[..., Member],
    shared: tuple[Any, ...],
    seeds: Sequence[int],
    n_jobs: int | None,
    shown: str | None,
) -> list[Member]:
    """``function(*shared, seed)`` for every seed, behind a progress bar where `shown` is a name."""
    with progress_bar(shown is not None, shown or "", "tree") as bars:

        def report(done: int) -> None:
            for bar in bars:
                bar(done, len(seeds), {})

        return run(function, shared, seeds, n_jobs, report)
