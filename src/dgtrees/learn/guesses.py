"""Guesses: what models of the labelled rows alone say of all rows, for the graph to begin with.

Kinds: "nothing", the mean; "linear", ridge or logistic regression; "trees", a forest of random
oblique trees. Every fold's guess knows nothing of the labels that the fold is judged by.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from dgtrees.learn.linear import PENALTIES, linear_models
from dgtrees.learn.members import MemberPlan, MemberRows, grow_member
from dgtrees.learn.part_labelled import PartLabelled, best_sharpness
from dgtrees.tables.examples import Examples

__all__ = ["GUESS_NAMES", "Guess", "best_penalty", "make_guess"]

GUESS_NAMES = {
    "nothing": "the mean",
    "linear": "a linear model",
    "trees": "trees",
}

_FOLD_TREES, _TREES = 30, 100

Guess = Callable[[np.ndarray | None], np.ndarray]
"""From the labels to leave out (labels,), or None, to centred targets of all rows."""


def make_guess(part: PartLabelled, kind: str, penalty: float = 1.0) -> Guess:
    """The guess of one kind for a table; the penalty is the linear model's."""
    if kind == "nothing":
        return lambda left_out: np.zeros((len(part), part.offsets.shape[1]))
    return _trees_guess(part) if kind == "trees" else _linear_guess(part, penalty)


def best_penalty(part: PartLabelled) -> float:
    """The penalty of a linear model that is best for the folds together.

    Candidates are judged once they are as sure as they are right; weak penalties of few labels,
    right more often but far too sure, would never be chosen otherwise.
    """
    held = np.zeros((len(PENALTIES), *part.offsets.shape))
    for fold in range(part.n_folds):
        out = part.fold == fold
        for number, model in enumerate(_linear(part, out, PENALTIES)):
            held[number, out] = _centred(part, model.predict(part.X[part.labelled[out]]))
    scores = [part.mean_loss(part.answers(one, best_sharpness(part, one))) for one in held]
    return PENALTIES[int(np.argmin(scores))]


def _linear_guess(part: PartLabelled, penalty: float) -> Guess:
    def guess(left_out: np.ndarray | None) -> np.ndarray:
        (model,) = _linear(part, left_out, (penalty,))
        return _centred(part, model.predict(part.X))

    return guess


def _linear(part: PartLabelled, left_out: np.ndarray | None, penalties: tuple[float, ...]):  # type: ignore[no-untyped-def]
    X, target, weight = _rows(part, left_out)
    return linear_models(X, target, weight, penalties, part.classification)


def _rows(
    part: PartLabelled, left_out: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    some = slice(None) if left_out is None else ~left_out
    rows = part.labelled[some]
    return part.X[rows], part.target[some], part.weight[rows]


def _centred(part: PartLabelled, outputs: np.ndarray) -> np.ndarray:
    if part.classification:
        return part.kept(softmax(outputs, axis=1) - part.center)
    # Far from the labelled rows, a slope would say what no row has.
    return np.clip(outputs, part.target.min(axis=0), part.target.max(axis=0)) - part.center


def _trees_guess(part: PartLabelled) -> Guess:
    classes = part.target.shape[1] if part.classification else 0

    def members(left_out: np.ndarray | None) -> MemberRows:
        X, target, weight = _rows(part, left_out)
        y = target.argmax(axis=1) if classes else target
        return MemberRows(Examples(X, y, weight), None, classes)

    plan = _member_plan(part.X.shape[1], part.classification)

    def guess(left_out: np.ndarray | None) -> np.ndarray:
        rows, total = members(left_out), np.zeros((len(part), part.target.shape[1]))
        count = _TREES if left_out is None else _FOLD_TREES
        for number in range(count):
            member = grow_member(rows, plan, 1.0, None, part.seed + number)
            outputs = member.tree.predict(part.X)
            total += softmax(outputs, axis=1) if classes else outputs
        return part.kept(total / count - part.center)

    return guess


def _member_plan(d: int, classification: bool) -> MemberPlan:
    """Few labels tell little about plans: one for classes, and one for values."""
    if classification:
        return MemberPlan(max(1, int(np.sqrt(d))), 8, min(d, 4))
    return MemberPlan((d + 1) // 2, 6, min(d, 32))
