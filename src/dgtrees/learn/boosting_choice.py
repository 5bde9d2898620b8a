"""How a sum of trees is grown, chosen on held-out rows by short runs with large steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dgtrees.learn.boosting import Booster, BoostingSettings

__all__ = ["CHOICES", "choose_settings"]

CHOICES = "least_rows", "linear", "oblique", "leaf"
"""Settings that may be chosen, in this order, which are the trials' names, too."""

_FINE_ROWS = 5
_TRIAL_RATE, _TRIAL_ROUNDS, _TRIAL_PATIENCE = 0.3, 50, 6
"""Settings are tried with larger steps, and not to the end."""

_GLANCE, _BEHIND, _LEAF_BEHIND = 10, 0.01, 0.3
"""After so many rounds, what is so much worse than the best so far, as a share of its loss, is not
gone on with; trees of another kind may catch up with more."""

_MARGIN = {"least_rows": 0.5, "linear": 0.5, "oblique": 1.0, "linear leaves": 0.3, "mixed": 0.3}
"""Standard errors of the mean difference that a change must gain to be made."""


def choose_settings(
    made: Callable[[BoostingSettings, int], Booster],
    trials: int,
    weight: np.ndarray,
    settings: BoostingSettings,
    choose: dict[str, bool],
    tried: dict[str, float],
) -> BoostingSettings:
    """Settings changed one by one where short runs on the first parts say so.

    Parameters
    ----------
    made : callable
        A booster of these settings on the part of this number.
    trials : int
        Parts to run on.
    weight : ndarray of shape (held-out rows of these parts,)
    choose : dict
        Which of `CHOICES` are to be chosen.
    tried : dict
        Held-out losses go there, by name.
    """

    def losses(candidate: BoostingSettings, ahead: float) -> tuple[np.ndarray, float]:
        """Held-out losses of a short run, which ends early with one worse than `ahead`."""
        trial = replace(candidate, learning_rate=_TRIAL_RATE, patience=_TRIAL_PATIENCE)
        runs = [made(trial, number).run(_GLANCE) for number in range(trials)]
        glance = float(np.mean([run.best_loss for run in runs]))
        behind = _BEHIND if candidate.leaf == settings.leaf else _LEAF_BEHIND
        if glance <= ahead + behind * abs(ahead):
            runs = [run.run(_TRIAL_ROUNDS) for run in runs]
        return np.concatenate([run.held_losses for run in runs]), glance

    best, ahead = losses(settings, np.inf)
    tried["start"] = float(np.average(best, weights=weight))
    for name, change in _changes(settings, choose):
        candidate = replace(settings, **change)  # type: ignore[arg-type]
        found, glance = losses(candidate, ahead)
        tried[name] = float(np.average(found, weights=weight))
        if _gains(best - found, weight) > _MARGIN[name]:
            best, ahead, settings = found, glance, candidate
    return settings


def _changes(
    settings: BoostingSettings, choose: dict[str, bool]
) -> Iterator[tuple[str, dict[str, object]]]:
    """What to try, by name; of trees that all have linear leaves, two settings say nothing."""
    if settings.leaf != "linear" and choose.get("least_rows"):
        yield "least_rows", {"least_rows": _FINE_ROWS}
    if choose.get("linear"):
        yield "linear", {"linear": True}
    if settings.leaf != "linear" and choose.get("oblique"):
        yield "oblique", {"oblique": False}
    if choose.get("leaf"):
        yield "linear leaves", {"leaf": "linear"}
        yield "mixed", {"leaf": "mixed"}


def _gains(lead: np.ndarray, weight: np.ndarray) -> float:
    """Mean lead of the held-out rows in standard errors."""
    mean = np.average(lead, weights=weight)
    error = np.sqrt(np.average((lead - mean) ** 2, weights=weight) / len(lead))
    return float(mean / max(error, 1e-300))
