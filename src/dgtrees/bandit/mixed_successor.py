"""What a mixed learner has to do besides learning from an answer: it makes its next model.

Scales, axes and the choice of products are fixed while a model is in use, so that its sums stay
sums of the same numbers. Each time the answers have doubled, a successor is begun in the other
slot: scales from a sample of the log, axes by one round of power iteration, products by screening,
then all answers of the log, and last the inverses. The work is counted by answers, not by time:
it pauses nobody for long, and is the same whenever the learner is saved in between.

After a change of the world the successor is made of the answers since.

What answers share in is compiled, see `dgtrees.tree.mixed_sums`; what is done once a model is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgtrees.bandit.mixed_change import notice_change
from dgtrees.bandit.mixed_scales import choose_pairs, find_scales, settle_shift, take_axes
from dgtrees.tree import mixed_sums
from dgtrees.tree.by_reference import Held
from dgtrees.tree.least_squares import Bank
from dgtrees.tree.mixed_state import FIRST_MODEL, LAST_STAGE, RENEW_EVERY, Counts, Mixed
from dgtrees.tree.neighbours import empty

__all__ = ["rebuild", "start_action", "tend"]

_IDLE, _TURN, _SCREEN, _REPLAY, _INVERT = range(LAST_STAGE + 1)
_SEEN, _LIVE, _BUILT, _STAGE = Counts.SEEN, Counts.LIVE, Counts.BUILT, Counts.STAGE
_POINTER, _START, _LOW, _NEXT = Counts.POINTER, Counts.START, Counts.LOW, Counts.NEXT
_INVERTED, _TAKEN = Counts.INVERTED, Counts.TAKEN

_SAMPLE = 4000  # answers that axes and products are chosen by
_AT_ONCE = 6  # answers that are replayed after each new one
_INVERSIONS = 6_000_000  # multiplications for inverses after each new one
_FORGOTTEN = 10.0  # half-lives after which an answer is left out
_LIKENESS = 10.0  # answers that an added action's likeness to others is worth
_SETTLED = 5000  # answers after which scales and products change little


def tend(held: Held) -> None:
    """All that an answer brings besides being learnt from."""
    state: Mixed = held.state
    counts, told = state.counts, state.told
    number = int(counts[_SEEN]) - 1
    if counts[_STAGE]:
        _build_some(held)
    elif counts[_SEEN] >= counts[_NEXT]:
        # A log that has gone round knows less than the sums in use.
        if told.half_life > 0.0 or counts[_SEEN] - counts[_LOW] <= len(state.log_rows):
            _begin(state)
        _plan_next(state)
    elif counts[_BUILT] and number % RENEW_EVERY == 0:
        k = number // RENEW_EVERY % len(state.total)
        mixed_sums.invert_action(held.table, int(counts[_LIVE]), k)
    if told.notice_change and notice_change(state):
        _begin(state)
        _plan_next(state)


def rebuild(held: Held, at_once: bool) -> None:
    """Begin a successor, and finish it if that is wanted at once."""
    _begin(held.state)
    while at_once and held.state.counts[_STAGE]:
        _build_some(held)


def start_action(held: Held, k: int) -> None:
    """Let an action that was added start from similar ones in the model in use."""
    state: Mixed = held.state
    slot = int(state.counts[_LIVE])
    for bank in (state.linear, state.product):
        _start_alike(bank, slot, state.like, k)
    mixed_sums.invert_action(held.table, slot, k)


def _plan_next(state: Mixed) -> None:
    """When to begin the next successor: as answers have doubled, later on quadrupled."""
    counts, life = state.counts, state.told.half_life
    age = int(counts[_SEEN] - counts[_LOW])
    more = age if age < _SETTLED else 3 * age
    if life > 0.0:
        more = max(16, min(age, int(life)))
    counts[_NEXT] = counts[_SEEN] + more


def _begin(state: Mixed) -> None:
    """Begin a successor from all answers that count."""
    counts, life = state.counts, state.told.half_life
    first = max(int(counts[_LOW]), int(counts[_SEEN]) - len(state.log_rows))
    if life > 0.0:
        first = max(first, int(counts[_SEEN]) - int(_FORGOTTEN * life))
    if counts[_SEEN] <= FIRST_MODEL:
        settle_shift(state)
    slot = 1 - int(counts[_LIVE])
    find_scales(state, slot, first, int(counts[_SEEN]))
    counts[_START] = counts[_SEEN]
    counts[_POINTER] = first
    counts[_TAKEN] = 0
    state.base[slot] = counts[_SEEN]
    state.pairs[slot] = state.pairs[1 - slot]
    state.spread[slot] = state.spread[1 - slot]
    if state.axes.shape[1]:
        counts[_STAGE] = _TURN
        state.axes[slot] = state.axes[1 - slot]
        state.gathered[:] = 0.0
    elif len(state.found):
        counts[_STAGE] = _SCREEN
        state.found[:] = 0.0
        state.noise[:] = 0.0
    else:
        _begin_replay(state, slot)


def _begin_replay(state: Mixed, slot: int) -> None:
    for bank in (state.linear, state.product):
        bank.sums[slot] = 0.0
        bank.heard[slot] = 0.0
    empty(state.near, slot)
    state.counts[_STAGE] = _REPLAY


def _build_some(held: Held) -> None:
    """The share of one answer in the work on the successor; its row is in the log already."""
    state: Mixed = held.state
    stage, slot = state.counts[_STAGE], 1 - int(state.counts[_LIVE])
    if stage == _TURN:
        if _sample(held, mixed_sums.turn, slot):
            take_axes(state, slot)
            _begin_replay(state, slot)
    elif stage == _SCREEN:
        if _sample(held, mixed_sums.screen, slot):
            choose_pairs(state, slot)
            _begin_replay(state, slot)
    elif stage == _REPLAY:
        _replay(held, slot)
    elif stage == _INVERT:
        _invert_some(held, slot)


def _sample(held: Held, look: Callable[..., None], slot: int) -> bool:
    """Look at some answers of the sample; whether that were all."""
    counts, room = held.state.counts, len(held.state.log_rows)
    first = max(int(counts[_POINTER]), int(counts[_SEEN]) - room)
    many = min(_SAMPLE, int(counts[_START]) - first)
    for _ in range(_AT_ONCE):
        if counts[_TAKEN] >= many:
            return True
        number = first + int(counts[_TAKEN]) * (int(counts[_START]) - first) // many
        counts[_TAKEN] += 1
        look(held.table, slot, number % room)
    return False


def _replay(held: Held, slot: int) -> None:
    """Count some answers of the log into the successor's sums."""
    state: Mixed = held.state
    counts, left = state.counts, _count_left(state)
    mixed_sums.replay(held.table, slot, min(_AT_ONCE, left), 0)
    if left <= _AT_ONCE:
        counts[_STAGE] = _INVERT
        counts[_INVERTED] = 0
        for k in range(len(state.total) - len(state.like), len(state.total)):
            for bank in (state.linear, state.product):
                _start_alike(bank, slot, state.like, k)


def _count_left(state: Mixed) -> int:
    """Answers of the log that the successor has not learnt from."""
    counts = state.counts
    counts[_POINTER] = max(counts[_POINTER], counts[_SEEN] - len(state.log_rows))
    return int(counts[_SEEN] - counts[_POINTER])


def _start_alike(bank: Bank, slot: int, like: np.ndarray, k: int) -> None:
    """Add to the sums of an action that was added what similar ones taught, as a few answers."""
    actions, last = bank.slopes.shape[1], len(bank.gain) - 1
    shares = like[k - (actions - len(like))]
    for other in range(actions):
        answers = bank.sums[slot, other, last, last]
        if shares[other] > 0.0 and answers > 0.0:
            share = shares[other] * min(_LIKENESS / answers, 1.0)
            bank.sums[slot, k] += share * bank.sums[slot, other]
            bank.heard[slot, k] += share * bank.heard[slot, other]


def _invert_some(held: Held, slot: int) -> None:
    """Invert the sums of some actions; the last one makes the successor the model in use."""
    state: Mixed = held.state
    counts, actions = state.counts, len(state.total)
    mixed_sums.replay(held.table, slot, _count_left(state), int(counts[_INVERTED]))
    for _ in range(max(1, _INVERSIONS // len(state.products) ** 3)):
        mixed_sums.invert_action(held.table, slot, int(counts[_INVERTED]))
        counts[_INVERTED] += 1
        if counts[_INVERTED] == actions:
            counts[_LIVE] = slot
            counts[_BUILT] += 1
            counts[_STAGE] = _IDLE
            return
