"""Few labels: what to make of unlabelled rows, chosen on labels that were held out.

A candidate (`Spreading`) is a guess from the labelled rows alone, and a graph over which it and
the labels are smoothed, or none. Graphs come first, with no guess; guesses then, with no graph;
and then guesses on the best graphs. All are judged by the labels that folds leave out. The best
are averaged.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dgtrees.learn.guesses import GUESS_NAMES, best_penalty, make_guess
from dgtrees.learn.neighbour_graph import (
    SCALINGS,
    nearest_rows,
    neighbour_graph,
    principal_columns,
    scaled_columns,
)
from dgtrees.learn.part_labelled import PartLabelled, best_sharpness
from dgtrees.learn.smoothing import smooth
from dgtrees.learn.spreading import FIRST_STRENGTH, Spreading, SpreadingChoice

__all__ = [
    "NEIGHBOURS",
    "TREE_PULL",
    "Graphs",
    "agree",
    "choose_spreading",
    "sample_rows",
    "spread_labels",
]

_DIRECTIONS = (2, 5, 15, 50)
NEIGHBOURS = (5, 15, 50)
_STRENGTHS = (0.001, 0.01, 0.1, 1.0)
_GRAPHS_KEPT = 3
_AVERAGED, _LEAST_SHARE = 24, 0.01
_CHOICE_LABELS, _CHOICE_ROWS = 2000, 5000
"""Labelled rows and rows in all, at most, that candidates are judged on."""

_TRUST = 0.3
"""How much of a candidate's likelihood on held-out labels is believed, of so many candidates."""

_SEVERAL_SEARCHES = 20_000
"""Up to so many rows, graphs of several kinds are averaged."""

_FOLD_TOLERANCE = 1e-2

TREE_PULL = 0.3
"""How much a tree's answers count, against 1 for all neighbours together."""


class Graphs:
    """Graphs over the rows of a table; neighbours are searched once per set of directions."""

    def __init__(self, X: np.ndarray, seed: int) -> None:
        self.X, self.seed = X, seed
        self._near: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {}

    def graph(self, one: Spreading, most: int | None = None):  # type: ignore[no-untyped-def]
        """The graph of a candidate."""
        key = one.scaling, one.directions
        count = min(one.neighbours, len(self.X) - 1)
        if key not in self._near or self._near[key][0].shape[1] < count:
            columns = scaled_columns(self.X, one.scaling)
            columns = principal_columns(columns, one.directions, self.seed)
            self._near[key] = nearest_rows(columns, min(max(most or 0, count), len(self.X) - 1))
        index, squared = self._near[key]
        return neighbour_graph(index[:, :count], squared[:, :count])


class _Search:
    """The folds of a table side by side, and what has been tried on them."""

    def __init__(self, part: PartLabelled, columns: np.ndarray, whole: int) -> None:
        self.part, self.graphs, self.rows = part, Graphs(columns, part.seed), whole
        self.choice = SpreadingChoice(penalty=best_penalty(part))
        self._fold_guesses: dict[str, np.ndarray] = {}
        self._answers: dict[Spreading, np.ndarray] = {}
        rows, labels, folds = len(part), part.labelled, part.n_folds
        known = np.zeros((rows, folds), dtype=bool)
        known[labels] = part.fold[:, None] != np.arange(folds)
        outputs = part.offsets.shape[1]
        self.known = np.repeat(known, outputs, axis=1)
        label = np.zeros((rows, outputs))
        label[labels] = part.offsets
        self.label = np.tile(label, (1, folds))

    def fold_guesses(self, kind: str) -> np.ndarray:
        """Guesses of all folds side by side, (rows, folds * columns)."""
        if kind not in self._fold_guesses:
            guess = make_guess(self.part, kind, self.choice.penalty)
            parts = [guess(self.part.fold == fold) for fold in range(self.part.n_folds)]
            self._fold_guesses[kind] = np.hstack(parts)
        return self._fold_guesses[kind]

    def held(self, z: np.ndarray) -> np.ndarray:
        """What folds say of the labelled rows that they leave out, (labels, columns)."""
        part = self.part
        by_fold = z[part.labelled].reshape(len(part.labelled), part.n_folds, -1)
        return by_fold[np.arange(len(part.labelled)), part.fold]

    def judge(self, one: Spreading, graph: Any = None) -> None:
        """Note the loss of a candidate."""
        z = self.fold_guesses(one.guess)
        if graph is not None:
            z = smooth(graph, self.label, self.known, z, one.strength, _FOLD_TOLERANCE)
        held, part = self.held(z), self.part
        sharp = best_sharpness(part, held)
        answers = part.answers(held, sharp)
        self.choice.sharpness[one], self._answers[one] = sharp, answers
        self.choice.losses[one] = part.mean_loss(answers)

    def run(self, neighbours: tuple[int, ...]) -> SpreadingChoice:
        """All candidates, and then the average of the best."""
        choice, d = self.choice, self.graphs.X.shape[1]
        directions = sorted({min(r, d) for r in _DIRECTIONS})
        for scaling, r in product(SCALINGS if neighbours else (), directions):
            for k in sorted(neighbours, reverse=True):
                one = Spreading("nothing", k, FIRST_STRENGTH, scaling, r)
                self.judge(one, self.graphs.graph(one))
        bases = choice.best(_GRAPHS_KEPT, graphs=True)
        for kind in GUESS_NAMES:
            self.judge(Spreading(kind))
        for base in bases:
            graph = self.graphs.graph(base)
            for kind, strength in product(GUESS_NAMES, _STRENGTHS):
                one = replace(base, guess=kind, strength=strength)
                if one not in choice.losses:
                    self.judge(one, graph)
        self._average()
        return choice

    def _average(self) -> None:
        """The likelier held-out labels are by a candidate, the more it counts.

        The best of so many would often be the best by luck, and errors of graphs differ.
        """
        choice, labels = self.choice, len(self.part.labelled)
        kept = self._affordable(choice.best(len(choice.losses)))[:_AVERAGED]
        lead = np.array([choice.losses[one] - choice.losses[kept[0]] for one in kept])
        # The log-likelihood of a row, of absolute errors by Laplace's law.
        scale = 1.0 if self.part.classification else choice.losses[kept[0]]
        likely = np.exp(-_TRUST * labels * lead / max(scale, 1e-12))
        shares = likely / likely.sum()
        some = [
            (one, float(share))
            for one, share in zip(kept, shares, strict=True)
            if share >= _LEAST_SHARE
        ]
        whole = sum(share for _, share in some)
        choice.shares = {one: share / whole for one, share in some}
        mean = sum(share * self._answers[one] for one, share in choice.shares.items())
        choice.loss = self.part.plain_loss(np.asarray(mean))

    def _affordable(self, candidates: list[Spreading]) -> list[Spreading]:
        """All of them; of a large table, those of one search for neighbours."""
        if self.rows <= _SEVERAL_SEARCHES:
            return candidates
        first = next((one for one in candidates if one.neighbours), candidates[0])
        same = first.scaling, first.directions
        return [
            one for one in candidates if not one.neighbours or (one.scaling, one.directions) == same
        ]


def choose_spreading(
    part: PartLabelled,
    columns: np.ndarray,
    neighbours: tuple[int, ...] = NEIGHBOURS,
    rows: int | None = None,
) -> SpreadingChoice:
    """Try candidates on folds of the labelled rows; see the module docstring.

    Parameters
    ----------
    part : PartLabelled
    columns : ndarray of shape (rows, d)
        The rows in their own units, for graphs.
    neighbours : tuple of int
        Numbers of neighbours to try; none for no graphs.
    rows : int, optional
        Rows of the table that `part` is a sample of.
    """
    return _Search(part, columns, rows or len(part)).run(neighbours)


def spread_labels(part: PartLabelled, graphs: Graphs, choice: SpreadingChoice) -> np.ndarray:
    """Class shares or values of all rows, (rows, outputs), by the average of what was kept."""
    label, known = _labels(part)
    kinds = dict.fromkeys(one.guess for one in choice.shares)
    guesses = {kind: make_guess(part, kind, choice.penalty)(None) for kind in kinds}
    total = np.zeros((len(part), part.target.shape[1]))
    for one, share in choice.shares.items():
        z = guesses[one.guess]
        if one.neighbours:
            z = smooth(graphs.graph(one, choice.most), label, known, z, one.strength)
        total += share * part.answers(z, choice.sharpness[one])
    return total


def agree(
    part: PartLabelled, graphs: Graphs, choice: SpreadingChoice, told: np.ndarray
) -> np.ndarray:
    """Class shares or values that agree with labels, neighbours and what a tree has told.

    The tree is what the guess was before, and counts at least as much; where what was kept has no
    neighbours to agree with, it is told all there is.
    """
    label, known = _labels(part)
    guess = part.kept(told - part.center)
    total = np.zeros_like(guess)
    for one, share in choice.shares.items():
        z = guess
        if one.neighbours:
            graph = graphs.graph(one, choice.most)
            z = smooth(graph, label, known, guess, max(TREE_PULL, one.strength))
        total += share * z
    targets = part.whole(total) + part.center
    if not part.classification:
        return targets
    targets = np.maximum(targets, 0.0)
    return targets / targets.sum(axis=1, keepdims=True)


def _labels(part: PartLabelled) -> tuple[np.ndarray, np.ndarray]:
    """Centred labels of all rows, and which are known."""
    label = np.zeros((len(part), part.offsets.shape[1]))
    label[part.labelled] = part.offsets
    known = np.zeros((len(part), 1), dtype=bool)
    known[part.labelled] = True
    return label, known


def sample_rows(part: PartLabelled) -> np.ndarray:
    """Rows to choose on: all of them, or some of the labelled and some of the others, in order."""
    random = np.random.default_rng([part.seed, 3])
    labels = part.labelled
    if len(labels) > _CHOICE_LABELS:
        labels = random.permutation(labels)[:_CHOICE_LABELS]
    others = np.setdiff1d(np.arange(len(part)), part.labelled)
    room = _CHOICE_ROWS - len(labels)
    if len(others) > room:
        others = random.permutation(others)[:room]
    return np.sort(np.concatenate([labels, others]))
