"""The successor of the model in use, made from the log a few rows per answer.

Scales, axes and the choice of products are fixed while a model is in use, so that its sums stay
sums of the same numbers. Each time the answers have doubled, a successor is begun in the other
slot: scales from a sample of the log, axes by one round of power iteration, products by screening,
then all answers of the log, and last the inverses. The work is counted by answers, not by time:
it pauses nobody for long, and is the same whenever the learner is saved in between.

After a change of the world the successor is made of the answers since.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.least_squares import accumulate, clear, invert, predict, update
from dgtrees.tree.mixed_rows import find_scales, load_kept, multiply, orthonormalise, transform
from dgtrees.tree.mixed_state import LEARN, Counts, Rewards
from dgtrees.tree.neighbours import empty, find, insert

__all__ = ["begin_build", "build_some", "feed", "start_alike"]

_IDLE, _TURN, _SCREEN, _REPLAY, _INVERT = range(5)
_SEEN, _LIVE, _BUILT, _STAGE = Counts.SEEN, Counts.LIVE, Counts.BUILT, Counts.STAGE
_POINTER, _START, _LOW, _NEXT = Counts.POINTER, Counts.START, Counts.LOW, Counts.NEXT
_INVERTED, _TAKEN = Counts.INVERTED, Counts.TAKEN

_SAMPLE = 4000  # answers that axes and products are chosen by
_AT_ONCE = 6  # answers that are replayed after each new one
_INVERSIONS = 6_000_000  # multiplications for inverses after each new one
_FORGOTTEN = 10.0  # half-lives after which an answer is left out
_LIKENESS = 10.0  # answers that an added action's likeness to others is worth


@njit(nogil=True)
def _first_kept(state, told):
    """Number of the oldest answer that a successor learns from."""
    counts = state.counts
    first = max(counts[_LOW], counts[_SEEN] - state.log_rows.shape[0])
    if told.half_life > 0.0:
        first = max(first, counts[_SEEN] - int(_FORGOTTEN * told.half_life))
    return first


@njit(nogil=True)
def _weight_of(state, told, slot, number):
    """What the answer of this number counts in a slot."""
    if told.half_life <= 0.0:
        return 1.0
    return 2.0 ** ((number - state.base[slot]) / told.half_life)


@njit(nogil=True)
def feed(state, told, slot, found, action, reward, number, invert_known):
    """Count an answer, whose row is in `state.row` and `state.products`, into a slot.

    `found` is how many neighbours of the row in this slot were brought to `state.near`.
    """
    weight = _weight_of(state, told, slot, number)
    if invert_known:
        update(state.linear, slot, action, state.row, reward, weight)
        update(state.product, slot, action, state.products, reward, weight)
    else:
        accumulate(state.linear, slot, action, state.row, reward, weight)
        accumulate(state.product, slot, action, state.products, reward, weight)
    columns = state.row.shape[0] - 1
    row, random = state.row[:columns], state.random
    insert(state.near, slot, row, found, action, reward, number, random, LEARN)


@njit(nogil=True, cache=True)
def begin_build(state, told):
    """Begin a successor from all answers that count."""
    counts = state.counts
    slot, first = 1 - counts[_LIVE], _first_kept(state, told)
    find_scales(state, slot, first, counts[_SEEN])
    counts[_START] = counts[_SEEN]
    counts[_POINTER] = first
    counts[_TAKEN] = 0
    state.base[slot] = counts[_SEEN]
    state.pairs[slot] = state.pairs[1 - slot]
    state.spread[slot] = state.spread[1 - slot]
    if state.axes.shape[1]:
        counts[_STAGE] = _TURN
        state.gathered[:] = 0.0
    elif state.found.shape[0]:
        counts[_STAGE] = _SCREEN
        state.found[:] = 0.0
        state.noise[:] = 0.0
    else:
        _begin_replay(state, slot)


@njit(nogil=True)
def _begin_replay(state, slot):
    clear(state.linear, slot)
    clear(state.product, slot)
    empty(state.near, slot)
    state.counts[_STAGE] = _REPLAY


@njit(nogil=True, cache=True)
def build_some(state, told):
    """The share of one answer in the work on the successor; its row is in the log already."""
    counts = state.counts
    slot = 1 - counts[_LIVE]
    if counts[_STAGE] == _TURN:
        if _sampled(state, told, slot, True):
            lengths = np.empty(state.gathered.shape[0])
            orthonormalise(state.gathered, state.axes[1 - slot], state.axes[slot], lengths)
            for i in range(lengths.shape[0]):
                variance = lengths[i] / max(counts[_TAKEN], 1)
                state.spread[slot, i] = 1.0 / np.sqrt(variance) if variance > 1e-6 else 0.0
            _begin_replay(state, slot)
    elif counts[_STAGE] == _SCREEN:
        if _sampled(state, told, slot, False):
            _choose_pairs(state, slot)
            _begin_replay(state, slot)
    elif counts[_STAGE] == _REPLAY:
        _replay(state, told, slot)
    elif counts[_STAGE] == _INVERT:
        _invert_some(state, told, slot)


@njit(nogil=True)
def _sampled(state, told, slot, turn):
    """Look at some answers of the sample; whether that were all."""
    counts, room = state.counts, state.log_rows.shape[0]
    first = max(counts[_POINTER], counts[_SEEN] - room)
    many = min(_SAMPLE, counts[_START] - first)
    for _ in range(_AT_ONCE):
        if counts[_TAKEN] >= many:
            return True
        number = first + counts[_TAKEN] * (counts[_START] - first) // many
        counts[_TAKEN] += 1
        if turn:
            _turn_row(state, told, slot, number % room)
        else:
            _screen_row(state, told, slot, number % room)
    return False


@njit(nogil=True)
def _turn_row(state, told, slot, place):
    """Power iteration: add the row times its parts along the axes in use."""
    state.axes[slot] = state.axes[1 - slot]
    load_kept(state, place)
    transform(state, slot, told.clip)
    for i in range(state.gathered.shape[0]):
        along, gathered = state.row[i], state.gathered[i]
        for j in range(gathered.shape[0]):
            gathered[j] += along * state.scaled[j]


@njit(nogil=True)
def _screen_row(state, told, slot, place):
    """Add what the linear member misses of an answer, times all products of its columns."""
    action = state.log_actions[place]
    missed = state.log_rewards[place] - state.rewards_seen[Rewards.OFFSET]
    if state.counts[_BUILT]:
        load_kept(state, place)
        transform(state, 1 - slot, told.clip)
        offset = state.rewards_seen[Rewards.OFFSET]
        expected = predict(state.linear, 1 - slot, action, state.row, offset)
        missed = state.log_rewards[place] - expected
    load_kept(state, place)
    transform(state, slot, told.clip)
    found = state.found[action % state.found.shape[0]]
    noise = state.noise[action % state.found.shape[0]]
    row = state.row
    for i in range(found.shape[0]):
        if row[i] != 0.0:
            for j in range(i + 1):
                product = missed * row[i] * row[j]
                found[i, j] += product
                noise[i, j] += product * product


@njit(nogil=True, error_model="numpy")
def _choose_pairs(state, slot):
    """The products that missed rewards go along with most, in standard errors."""
    groups, columns = state.found.shape[0], state.found.shape[1]
    scores = np.empty(columns * (columns + 1) // 2)
    typical = 0.0
    for g in range(groups):
        for i in range(columns):
            typical += state.noise[g, i, i]
    typical = typical / (groups * columns) + 1e-300
    place = 0
    for i in range(columns):
        for j in range(i + 1):
            score = 0.0
            for g in range(groups):
                score += state.found[g, i, j] ** 2 / (state.noise[g, i, j] + 0.03 * typical)
            scores[place] = score
            place += 1
    ranked = np.argsort(-scores, kind="mergesort")[: state.pairs.shape[1]]
    ranked.sort()
    for m in range(ranked.shape[0]):
        i = int((np.sqrt(8.0 * ranked[m] + 1.0) - 1.0) / 2.0)
        state.pairs[slot, m, 0] = ranked[m] - i * (i + 1) // 2
        state.pairs[slot, m, 1] = i


@njit(nogil=True)
def _replay_one(state, told, slot, number, known):
    place = number % state.log_rows.shape[0]
    load_kept(state, place)
    transform(state, slot, told.clip)
    multiply(state, slot)
    action = state.log_actions[place]
    found = find(state.near, slot, state.row[: state.row.shape[0] - 1])
    feed(state, told, slot, found, action, state.log_rewards[place], number, known)


@njit(nogil=True)
def _replay(state, told, slot):
    """Count some answers of the log into the successor's sums."""
    counts = state.counts
    counts[_POINTER] = max(counts[_POINTER], counts[_SEEN] - state.log_rows.shape[0])
    for _ in range(_AT_ONCE):
        if counts[_POINTER] >= counts[_SEEN]:
            break
        _replay_one(state, told, slot, counts[_POINTER], False)
        counts[_POINTER] += 1
    if counts[_POINTER] >= counts[_SEEN]:
        counts[_STAGE] = _INVERT
        counts[_INVERTED] = 0
        for k in range(state.total.shape[0] - state.like.shape[0], state.total.shape[0]):
            start_alike(state.linear, slot, state.like, k)
            start_alike(state.product, slot, state.like, k)


@njit(nogil=True, cache=True, error_model="numpy")
def start_alike(bank, slot, like, k):
    """Add to the sums of an action that was added what similar ones taught, as a few answers."""
    actions, last = bank.slopes.shape[1], bank.gain.shape[0] - 1
    shares = like[k - (actions - like.shape[0])]
    for other in range(actions):
        answers = bank.sums[slot, other, last, last]
        if shares[other] > 0.0 and answers > 0.0:
            share = shares[other] * min(_LIKENESS / answers, 1.0)
            bank.sums[slot, k] += share * bank.sums[slot, other]
            bank.heard[slot, k] += share * bank.heard[slot, other]


@njit(nogil=True)
def _invert_some(state, told, slot):
    """Invert the sums of some actions; the last one makes the successor the model in use."""
    counts = state.counts
    actions, columns = state.total.shape[0], state.products.shape[0]
    while counts[_POINTER] < counts[_SEEN]:  # what came since
        action = state.log_actions[counts[_POINTER] % state.log_rows.shape[0]]
        _replay_one(state, told, slot, counts[_POINTER], action < counts[_INVERTED])
        counts[_POINTER] += 1
    for _ in range(max(1, _INVERSIONS // columns**3)):
        invert(state.linear, slot, counts[_INVERTED], told.ridge)
        invert(state.product, slot, counts[_INVERTED], told.product_ridge)
        counts[_INVERTED] += 1
        if counts[_INVERTED] == actions:
            counts[_LIVE] = slot
            counts[_BUILT] += 1
            counts[_STAGE] = _IDLE
            return
