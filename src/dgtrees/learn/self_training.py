"""Self-training: one hard tree from rows of which a few have labels.

Labels come to all rows first (`few_labels`); a tree learns what all rows have been given; and the
two take turns: rows agree with their labels, their neighbours and the tree, and the tree is trained
on what they have agreed on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from dgtrees.learn.few_labels import (
    NEIGHBOURS,
    Graphs,
    agree,
    choose_spreading,
    sample_rows,
    spread_labels,
)
from dgtrees.learn.part_labelled import PartLabelled
from dgtrees.learn.spreading import SpreadingChoice
from dgtrees.learn.student import choose_student, student_plans, student_recipe, train_student
from dgtrees.learn.threads import one_thread
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["SelfTrained", "choose", "self_train"]


@dataclass(frozen=True)
class SelfTrained:
    """What self-training ends in.

    Parameters
    ----------
    tree : ObliqueTree
        On standardised rows and targets.
    targets : ndarray of shape (rows, outputs)
        Class shares, or standardised values, that the tree has learnt.
    epochs : int
        Passes of the last training.
    """

    tree: ObliqueTree
    targets: np.ndarray
    epochs: int


def choose(part: PartLabelled, columns: np.ndarray, n_neighbors: int | None) -> SpreadingChoice:
    """How labels are to come to all rows, chosen on some of them if they are many."""
    some = sample_rows(part)
    neighbours = NEIGHBOURS if n_neighbors is None else (n_neighbors,) if n_neighbors else ()
    with one_thread():
        return choose_spreading(part.take(some), columns[some], neighbours, len(part))


def self_train(
    part: PartLabelled,
    X: np.ndarray,
    columns: np.ndarray,
    choice: SpreadingChoice,
    *,
    max_depth: int | None = None,
    leaf: str = "auto",
    n_rounds: int = 2,
    max_epochs: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> SelfTrained:
    """Train the tree.

    Parameters
    ----------
    part : PartLabelled
    X : ndarray of shape (rows, d)
        Standardised rows as the tree takes them.
    columns : ndarray of shape (rows, d)
        Rows in their own units, for the graph.
    choice : SpreadingChoice
        Takes note of the heights and leaves that are tried.
    max_depth : int, optional
        Height of the tree; by the number of rows where it is not given.
    leaf : {"auto", "constant", "linear"}
        What leaves hold; "auto" chooses where the height is not given.
    n_rounds : int
        How often the tree is trained.
    """
    plans = student_plans(len(part), max_depth, leaf)
    recipe = student_recipe(part.classification, max_epochs)
    graphs = Graphs(columns, part.seed)
    with one_thread():
        targets = with_labels(part, spread_labels(part, graphs, choice))
    if len(plans) > 1:
        given = X, targets, part.weight, part.classification, plans, recipe, seed, n_threads
        choice.students = choose_student(*given)
        plans = [min(plans, key=choice.students.__getitem__)]
    rest = part.weight, part.classification, plans[0], recipe, seed, n_threads
    tree = train_student(X, targets, *rest)
    for _ in range(n_rounds - 1):
        outputs = tree.predict(X)
        told = softmax(outputs, axis=1) if part.classification else outputs
        with one_thread():
            targets = with_labels(part, agree(part, graphs, choice, told))
        tree = train_student(X, targets, *rest)
    return SelfTrained(tree, targets, recipe.n_epochs(len(part)))


def with_labels(part: PartLabelled, targets: np.ndarray) -> np.ndarray:
    """Targets of all rows, those of labelled rows as given."""
    targets = targets.copy()
    targets[part.labelled] = part.target
    return targets
