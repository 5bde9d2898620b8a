"""Spreading: how labels may come to all rows, and what held-out labels said of what was tried."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgtrees.learn.guesses import GUESS_NAMES
from dgtrees.learn.student import StudentPlan

__all__ = ["FIRST_STRENGTH", "Spreading", "SpreadingChoice"]

FIRST_STRENGTH = 0.01
"""How much a guess counts while graphs are compared."""

_SHOWN = 5


@dataclass(frozen=True)
class Spreading:
    """How labels come to all rows.

    Parameters
    ----------
    guess : str
        What the labelled rows alone say, one of `guesses.GUESS_NAMES`.
    neighbours : int
        Of every row in the graph; 0 for no graph.
    strength : float
        How much the guess counts against neighbours.
    scaling, directions
        How distances are taken (`neighbour_graph`).
    """

    guess: str = "nothing"
    neighbours: int = 0
    strength: float = FIRST_STRENGTH
    scaling: str = "standard"
    directions: int = 0

    def __str__(self) -> str:
        guess = GUESS_NAMES[self.guess]
        if not self.neighbours:
            return f"{guess} of the labelled rows"
        return (
            f"{self.neighbours} neighbours in {self.directions} directions "
            f"({self.scaling}), {guess} at {self.strength:g}"
        )


@dataclass
class SpreadingChoice:
    """What was tried, its loss on labels that were held out, and which are averaged.

    Parameters
    ----------
    losses : dict
        Log-loss with one label more or less in doubt, or absolute error of standardised values.
    sharpness : dict
        By what centred targets are multiplied for class shares that are as sure as they are right.
    shares : dict
        What each of those that are kept counts in the average.
    loss : float
        Log-loss, or squared error, of the average.
    alone : float, optional
        The same of a tree of the labelled rows alone, where one was trained.
    penalty : float
        Of the linear model.
    students : dict
        Loss of every tree that was tried against the targets of rows that it had not seen.
    """

    losses: dict[Spreading, float] = field(default_factory=dict)
    sharpness: dict[Spreading, float] = field(default_factory=dict)
    shares: dict[Spreading, float] = field(default_factory=dict)
    loss: float = np.inf
    alone: float | None = None
    penalty: float = 1.0
    students: dict[StudentPlan, float] = field(default_factory=dict)

    @property
    def helps(self) -> bool:
        """Whether unlabelled rows help, as far as held-out labels can tell."""
        return self.alone is None or self.loss <= self.alone

    @property
    def most(self) -> int:
        """Most neighbours of those that are kept."""
        return max(one.neighbours for one in self.shares)

    def best(self, count: int, graphs: bool = False) -> list[Spreading]:
        """The best of all, or of those with a graph."""
        some = [one for one in self.losses if one.neighbours or not graphs]
        return sorted(some, key=lambda one: self.losses[one])[:count]

    def __str__(self) -> str:
        """The best candidates and their shares of the average, and every plain guess."""
        kept = sorted(self.shares, key=lambda one: self.losses[one])
        shown = {*kept[:_SHOWN], *(one for one in self.losses if not one.neighbours)}
        lines = ["held-out loss   share  what"]
        for one in sorted(shown, key=lambda one: self.losses[one]):
            share = self.shares.get(one, 0.0)
            lines.append(f"{self.losses[one]:13.4f}   {share:5.2f}  {one}")
        if rest := sum(self.shares[one] for one in kept if one not in shown):
            lines.append(f"{'':13}   {rest:5.2f}  others like these")
        told = [(self.loss, "log-loss, or squared error, of their average", self.helps)]
        if self.alone is not None:
            told.append(
                (self.alone, "the same of a tree of the labelled rows alone", not self.helps)
            )
        for loss, what, best in told:
            lines.append(f"{loss:13.4f}          {what}{'  <- kept' if best else ''}")
        if self.students:
            lines.append("loss against targets of rows held out, of a tree of")
        for plan in sorted(self.students, key=self.students.__getitem__):
            lines.append(f"{self.students[plan]:13.4f}          {plan}")
        return "\n".join(lines)
