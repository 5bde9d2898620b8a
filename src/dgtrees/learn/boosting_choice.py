"""How a sum of trees is grown, chosen on held-out rows by short runs with large steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from dgtrees.learn.boosting import Booster
from dgtrees.learn.boosting_settings import BoostingSettings

__all__ = ["CHOICES", "choose_settings"]

CHOICES = "least_rows", "varied", "linear", "oblique", "leaf"
"""Settings that may be chosen, in this order, which are the trials' names, too."""

_FINE_ROWS = 5
_TRIAL_RATE, _TRIAL_PATIENCE = 0.3, 6
"""Settings are tried with larger steps."""

_TRIAL_ROUNDS, _MOST_TRIAL_ROUNDS = 50, 300
"""Rounds that a change has to show a lead, and rounds that the lead must last, unless both runs end
before: a line is ahead of any sum that has only begun."""

_GLANCE, _BEHIND, _LEAF_BEHIND = 10, 0.01, 0.3
"""After so many rounds, what is so much worse than the best so far, as a share of its loss, is not
gone on with; trees of another kind may catch up with more."""

_MARGIN = {
    "least_rows": 0.5,
    "linear": 0.5,
    "varied": 0.5,
    "oblique": 1.0,
    "linear leaves": 0.3,
    "mixed": 0.3,
}
"""Standard errors of the mean difference that a change must gain to be made."""


def choose_settings(
    made: Callable[[BoostingSettings], list[list[Booster]]],
    settings: BoostingSettings,
    choose: dict[str, bool],
    tried: dict[str, float],
) -> BoostingSettings:
    """Settings changed one by one where short runs on the first parts say so.

    Parameters
    ----------
    made : callable
        Boosters of these settings: for every set of held-out rows, those whose mean is judged.
    choose : dict
        Which of `CHOICES` are to be chosen.
    tried : dict
        Held-out losses go there, by name.
    """

    def started(candidate: BoostingSettings) -> _Trial:
        trial = replace(candidate, learning_rate=_TRIAL_RATE, patience=_TRIAL_PATIENCE)
        return _Trial(made(trial))

    best = started(settings)
    ahead = best.run(_GLANCE).mean
    tried["start"] = best.run(_TRIAL_ROUNDS).mean
    for name, change in _changes(settings, choose):
        candidate = replace(settings, **change)  # type: ignore[arg-type]
        other = started(candidate)
        glance = other.run(_GLANCE).mean
        alike = candidate.leaf == settings.leaf and not change.get("varied")
        behind = _BEHIND if alike else _LEAF_BEHIND
        if glance <= ahead + behind * abs(ahead):
            other.run(_TRIAL_ROUNDS)
        gains = other.leads(best, _MARGIN[name])
        if gains:
            gains = other.run(_MOST_TRIAL_ROUNDS).leads(best.run(_MOST_TRIAL_ROUNDS), _MARGIN[name])
        tried[name] = other.mean
        if gains:
            best, ahead, settings = other, glance, candidate
    return settings


class _Trial:
    """Runs with one choice of settings: for every part, those whose mean is judged on its rows."""

    def __init__(self, runs: list[list[Booster]]) -> None:
        self._runs = runs

    def run(self, rounds: int) -> _Trial:
        """Go on, up to so many rounds in all."""
        for booster in chain(*self._runs):
            booster.run(rounds)
        return self

    @property
    def losses(self) -> np.ndarray:
        """Of all held-out rows."""
        return np.concatenate([_mean_losses(runs) for runs in self._runs])

    @property
    def weight(self) -> np.ndarray:
        """Of all held-out rows."""
        return np.concatenate([runs[0].rows.weight[runs[0].held] for runs in self._runs])

    @property
    def mean(self) -> float:
        """Of all held-out rows, by weight."""
        return float(np.average(self.losses, weights=self.weight))

    def leads(self, other: _Trial, margin: float) -> bool:
        """Whether losses are lower than another's by so many standard errors of the mean."""
        return _gains(other.losses - self.losses, self.weight) > margin


def _mean_losses(runs: list[Booster]) -> np.ndarray:
    """Of the same held-out rows, by the mean of the runs' scores."""
    rows, held = runs[0].rows, runs[0].held
    scores = np.mean([run.held_scores for run in runs], axis=0)
    return rows.loss.values(scores, rows.y[held])


def _changes(
    settings: BoostingSettings, choose: dict[str, bool]
) -> Iterator[tuple[str, dict[str, object]]]:
    """What to try, by name; of trees that all have linear leaves, two settings say nothing."""
    if settings.leaf != "linear" and choose.get("least_rows"):
        yield "least_rows", {"least_rows": _FINE_ROWS}
    if settings.leaf == "constant" and choose.get("varied"):
        yield "varied", {"varied": True}
    if choose.get("linear"):
        yield "linear", {"linear": True, "varied": False}
    if settings.leaf != "linear" and choose.get("oblique"):
        yield "oblique", {"oblique": False}
    if choose.get("leaf"):
        yield "linear leaves", {"leaf": "linear", "varied": False}
        yield "mixed", {"leaf": "mixed", "varied": False}


def _gains(lead: np.ndarray, weight: np.ndarray) -> float:
    """Mean lead of the held-out rows in standard errors."""
    mean = np.average(lead, weights=weight)
    error = np.sqrt(np.average((lead - mean) ** 2, weights=weight) / len(lead))
    return float(mean / max(error, 1e-300))
