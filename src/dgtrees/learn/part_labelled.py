"""PartLabelled: rows of which a few have labels, the folds of those, and what a guess costs.

Targets are kept around the labelled rows' mean. Those of classes then add up to 0, so that the last
one need not be kept; and no class gains by being frequent where no label is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

__all__ = ["PartLabelled", "best_sharpness"]

_FOLDS, _MANY_LABELS, _FEWER = 10, 300, 5
"""Folds of the labelled rows, and fewer of them where there are many labels."""

_SHARPNESS = tuple(2.0**power for power in range(-1, 15))


@dataclass(frozen=True)
class PartLabelled:
    """Standardised rows, and the targets of some of them.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        float32.
    labelled : ndarray of shape (labels,)
        Numbers of the rows whose target is known.
    target : ndarray of shape (labels, outputs)
        Classes one-hot, or values.
    weight : ndarray of shape (rows,)
    classification : bool
    seed : int
        Of the folds.
    """

    X: np.ndarray
    labelled: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    classification: bool
    seed: int = 0

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: np.ndarray) -> PartLabelled:
        """Some of the rows, in order."""
        kept = np.isin(self.labelled, rows)
        labelled = np.searchsorted(rows, self.labelled[kept])
        X, target, weight = self.X[rows], self.target[kept], self.weight[rows]
        return PartLabelled(X, labelled, target, weight, self.classification, self.seed)

    @cached_property
    def center(self) -> np.ndarray:
        """Mean target of the labelled rows, (outputs,)."""
        return np.average(self.target, axis=0, weights=self.weight[self.labelled])

    @cached_property
    def offsets(self) -> np.ndarray:
        """Targets around their mean, (labels, columns), without the last class."""
        return self.kept(self.target - self.center)

    def kept(self, targets: np.ndarray) -> np.ndarray:
        """Centred targets without the column that the others tell."""
        return targets[:, :-1] if self.classification else targets

    def whole(self, offsets: np.ndarray) -> np.ndarray:
        """Centred targets of all outputs."""
        if not self.classification:
            return offsets
        return np.hstack([offsets, -offsets.sum(axis=1, keepdims=True)])

    @cached_property
    def fold(self) -> np.ndarray:
        """Fold of every labelled row, (labels,); classes, or ranks of values, are spread."""
        labels = len(self.labelled)
        order = np.random.default_rng([self.seed, 5]).permutation(labels)
        key = self.target.argmax(axis=1) if self.classification else self.target[:, 0]
        order = order[np.argsort(key[order], kind="stable")]
        folds = min(_FOLDS if labels <= _MANY_LABELS else _FEWER, labels)
        fold = np.empty(labels, dtype=np.int64)
        fold[order] = np.arange(labels) % folds
        return fold

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    @cached_property
    def frequency(self) -> np.ndarray:
        """Logarithms of class shares among the labels, as if every class had one more."""
        labels = len(self.labelled)
        return np.log((labels * self.center + 1.0) / (labels + len(self.center)))

    @cached_property
    def unsure(self) -> np.ndarray:
        """Classes of the labelled rows as if one more label were a mistake, (labels, outputs).

        A few labels that are all told rightly are no reason to be sure of thousands of rows.
        """
        share = 1.0 / (len(self.labelled) + 1.0)
        return (1.0 - share) * self.target + share / self.target.shape[1]

    def mean_loss(self, answers: np.ndarray) -> float:
        """Of what is said of the labelled rows, to choose by: log-loss, or absolute error.

        Of so few squared errors, the largest would choose alone.
        """
        if self.classification:
            losses = -(np.log(np.maximum(answers, 1e-12)) * self.unsure).sum(axis=1)
        else:
            losses = np.abs(answers - self.target).mean(axis=1)
        return float(np.average(losses, weights=self.weight[self.labelled]))

    def plain_loss(self, answers: np.ndarray) -> float:
        """The same in the unit that trees of labelled rows are chosen by: squared error."""
        if self.classification:
            losses = -(np.log(np.maximum(answers, 1e-12)) * self.target).sum(axis=1)
        else:
            losses = np.square(answers - self.target).mean(axis=1)
        return float(np.average(losses, weights=self.weight[self.labelled]))

    def answers(self, offsets: np.ndarray, sharpness: float) -> np.ndarray:
        """Class shares, or values, from centred targets of rows."""
        if not self.classification:
            return offsets + self.center
        return softmax(sharpness * self.whole(offsets) + self.frequency, axis=1)


def best_sharpness(part: PartLabelled, offsets: np.ndarray) -> float:
    """By what to multiply centred targets so that class shares are as sure as they are right."""
    if not part.classification:
        return 1.0
    return min(_SHARPNESS, key=lambda sharp: part.mean_loss(part.answers(offsets, sharp)))
