"""Whether the world has changed: recent rewards compared with those before."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.mixed_state import Counts, Rewards

__all__ = ["notice_change"]

_EVERY = 25  # answers between two looks
_SHORTEST, _LONGEST = 50, 400  # windows of recent answers, each twice the one before
_BEFORE = 2000  # answers that a window is compared with
_LEAST = 500  # answers before a window without which nothing is concluded
_ERRORS = 6.0  # standard errors by which rewards must have fallen
_FLOOR = 0.2  # of the range of rewards: the least deviation that is assumed of one


@njit(nogil=True)
def _mean(state, first, last):
    total = 0.0
    for number in range(first, last):
        total += state.log_rewards[number % state.log_rewards.shape[0]]
    return total / (last - first)


@njit(nogil=True, error_model="numpy")
def notice_change(state):
    """Look whether rewards have fallen by far more than by chance; if so, forget what was before.

    Rewards near their best have little variance and long streaks without one that fails, so that a
    few failures look like many standard errors: a least deviation is assumed.
    """
    counts, seen = state.counts, state.rewards_seen
    now, room = counts[Counts.SEEN], state.log_rewards.shape[0]
    if now % _EVERY or now - counts[Counts.LOW] < _LEAST + _SHORTEST:
        return False
    window = _SHORTEST
    while window <= _LONGEST:
        last = now - window
        first = max(counts[Counts.LOW], now - room, last - _BEFORE)
        if last - first >= _LEAST:
            before = _mean(state, first, last)
            square = 0.0
            for number in range(first, last):
                square += (state.log_rewards[number % room] - before) ** 2
            floor = _FLOOR * (seen[Rewards.LARGEST] - seen[Rewards.SMALLEST])
            deviation = max(np.sqrt(square / (last - first)), floor)
            error = deviation * np.sqrt(1.0 / window + 1.0 / (last - first))
            if before - _mean(state, last, now) > _ERRORS * error > 0.0:
                counts[Counts.LOW] = last
                counts[Counts.CHANGES] += 1
                return True
        window *= 2
    return False
