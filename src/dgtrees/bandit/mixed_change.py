"""Whether the world has changed: recent rewards compared with those before."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.mixed_state import LOOK_EVERY, Counts, Mixed, Rewards

__all__ = ["notice_change"]

_SHORTEST, _LONGEST = 50, 400  # windows of recent answers, each twice the one before
_BEFORE = 2000  # answers that a window is compared with
_LEAST = 500  # answers before a window without which nothing is concluded
_ERRORS = 6.0  # standard errors by which rewards must have fallen
_FLOOR = 0.2  # of the range of rewards: the least deviation that is assumed of one


def notice_change(state: Mixed) -> bool:
    """Look whether rewards have fallen by far more than by chance; if so, forget what was before.

    Rewards near their best have little variance and long streaks without one that fails, so that a
    few failures look like many standard errors: a least deviation is assumed.
    """
    counts, seen, room = state.counts, state.rewards_seen, len(state.log_rewards)
    now, low = int(counts[Counts.SEEN]), int(counts[Counts.LOW])
    if now % LOOK_EVERY or now - low < _LEAST + _SHORTEST:
        return False
    oldest = max(low, now - room, now - _LONGEST - _BEFORE)
    rewards = state.log_rewards[np.arange(oldest, now) % room]
    floor = _FLOOR * (seen[Rewards.LARGEST] - seen[Rewards.SMALLEST])
    window = _SHORTEST
    while window <= _LONGEST:
        last = now - window
        first = max(oldest, last - _BEFORE)
        if last - first >= _LEAST:
            before = rewards[first - oldest : last - oldest]
            fallen = before.mean() - rewards[last - oldest :].mean()
            least = _ERRORS * np.sqrt(1.0 / window + 1.0 / (last - first))
            if fallen > least * floor and fallen > least * max(before.std(), floor) > 0.0:
                counts[Counts.LOW] = last
                counts[Counts.CHANGES] += 1
                return True
        window *= 2
    return False
