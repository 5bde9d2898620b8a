"""Score, choose and learn: what a mixed learner does for one row, and for a stream of them.

Three members predict the reward of every action: a ridge regression on the columns, one with
products of columns, and the linear one corrected by the nearest kept answers. Their predictions are
stacked: a small regression, which forgets, learns what each of them counts. The best action after a
bonus for what the linear member is unsure of is drawn, or any, uniformly, with a small share that
decays.

Rewards may have any scale: predictions are drawn towards the mean reward of uniform draws, the
bonus is in deviations of the reward, and predictions are cut near the smallest and the largest.

Python puts a decision together from `score` and `choose`, and an answer from `score` and `learn`:
functions that are compiled by themselves compile once, and those that they were part of, twice. All
work that not every answer brings is Python's to call, see `bandit.mixed_successor`.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.exploration import sample_action
from dgtrees.tree.least_squares import gain, predict
from dgtrees.tree.mixed_rows import load, multiply, transform
from dgtrees.tree.mixed_state import (
    DECIDE,
    LOOK_EVERY,
    MEMBERS,
    RENEW_EVERY,
    Counts,
    Rewards,
    Scored,
    open_mixed,
)
from dgtrees.tree.mixed_sums import feed
from dgtrees.tree.neighbours import SAME, find
from dgtrees.tree.random_numbers import draw_uniform

__all__ = ["choose", "expected", "learn", "play", "score"]

_SEEN, _LIVE, _BUILT, _STAGE = Counts.SEEN, Counts.LIVE, Counts.BUILT, Counts.STAGE
_LOW, _NEXT = Counts.LOW, Counts.NEXT
_WEIGHT, _WEIGHTED, _OFFSET = Rewards.WEIGHT, Rewards.WEIGHTED, Rewards.OFFSET
_MEAN, _SQUARE = Rewards.MEAN, Rewards.SQUARE
_SMALLEST, _LARGEST = Rewards.SMALLEST, Rewards.LARGEST
_FOUND, _KNOWN, _VALID = Scored.FOUND, Scored.KNOWN, Scored.VALID

_RECENT = 1000.0  # answers that mean and deviation of the reward look back over
_HEAVIEST = 1e6  # an answer counts 1 / probability in the mean of uniform draws, but no more


@njit(nogil=True, error_model="numpy")
def _correct(state, slot, found):
    """The linear member's scores, drawn towards the rewards of the neighbours."""
    near, scores, votes, told = state.near, state.scores, state.votes, state.told
    actions = scores.shape[1]
    for k in range(actions):
        votes[0, k] = votes[1, k] = 0.0
    if found:
        farthest = near.distances[found - 1] + 1e-9
        for q in range(found):
            i = near.nearest[q]
            k = near.actions[slot, i]
            closeness = 1.0 / (near.distances[q] / farthest + told.closest)
            weight = closeness * closeness * min(near.counts[slot, i], told.most)
            if told.half_life > 0.0:
                weight *= 2.0 ** ((near.times[slot, i] - state.counts[_SEEN]) / told.half_life)
            votes[0, k] += weight
            votes[1, k] += weight * (near.rewards[slot, i] - scores[0, k])
    for k in range(actions):
        scores[2, k] = scores[0, k] + votes[1, k] / (votes[0, k] + told.prior)


@njit(nogil=True, cache=True)
def score(table, x):
    """Predictions of all members for a raw row, and their stacked total.

    How many neighbours there are, and whether one is the row itself, is left in `state.scored`. The
    row that was scored last is not scored again, unless something was learnt since.
    """
    state = open_mixed(table)
    same = state.scored[_VALID] == 1
    for j in range(x.shape[0]):
        same = same and state.raw[j] == x[j]
        state.raw[j] = x[j]
    if same:
        return
    slot, seen = state.counts[_LIVE], state.rewards_seen
    offset, actions = seen[_OFFSET], state.total.shape[0]
    load(state, x)
    transform(state, slot)
    multiply(state, slot)
    for k in range(actions):
        state.scores[0, k] = predict(state.linear, slot, k, state.row, offset)
        state.scores[1, k] = predict(state.product, slot, k, state.products, offset)
    found = find(state.near, slot, state.row)
    _correct(state, slot, found)
    # Rows that came before are remembered, which says nothing about what neighbours know of others.
    known = 1 if found and state.near.distances[0] <= SAME else 0
    reach = 0.5 * (seen[_LARGEST] - seen[_SMALLEST])
    low, high = seen[_SMALLEST] - reach, seen[_LARGEST] + reach
    for k in range(actions):
        total = offset
        for e in range(MEMBERS):
            part = min(max(state.scores[e, k], low), high) - offset
            state.scores[e, k] = part
            total += state.stack[known, e] * part
        state.total[k] = total
    state.scored[_FOUND] = found
    state.scored[_KNOWN] = known
    state.scored[_VALID] = 1


@njit(nogil=True, cache=True, error_model="numpy")
def choose(table, allowed, draw):
    """Bring the probabilities for the row that was scored to `state.probabilities`.

    The action drawn by them, or -1 if none is to be drawn.
    """
    state = open_mixed(table)
    counts, total, chances = state.counts, state.total, state.probabilities
    told, actions, slot = state.told, total.shape[0], counts[_LIVE]
    # While all rewards are equal, what is unknown decides alone, and not the order of actions.
    variance = state.rewards_seen[_SQUARE]
    deviation = np.sqrt(variance) if variance > 0.0 else 1.0
    many = 0
    for k in range(actions):
        many += 1 if allowed[k] else 0
    # Of many draws the largest lies further out: about the root of twice the logarithm.
    credit = told.bonus * np.sqrt(np.log(many)) * deviation
    best, highest = -1, 0.0
    for k in range(actions):
        if allowed[k]:
            # What is expected to be worse than anything seen is only known to be bad: among such
            # actions what is unknown decides, or the wrong one might stay the best for ever.
            hope = max(total[k], state.rewards_seen[_SMALLEST])
            hope += credit * np.sqrt(gain(state.linear, slot, k, state.row))
            if best < 0 or hope > highest:
                best, highest = k, hope
    share = 1.0
    if counts[_BUILT]:
        age = counts[_SEEN] - counts[_LOW]
        share = max(told.least_explore, told.explore * np.sqrt(actions / (actions + age)))
    for k in range(actions):
        chances[k] = share / many if allowed[k] else 0.0
    chances[best] += 1.0 - share
    if draw:
        return sample_action(chances, draw_uniform(state.random, DECIDE))
    return -1


@njit(nogil=True)
def _learn_rewards(state, reward, probability):
    """Count a reward into its statistics."""
    seen, n = state.rewards_seen, state.counts[_SEEN] - state.counts[_LOW] + 1.0
    if state.counts[_SEEN] == 0:
        seen[_SMALLEST] = seen[_LARGEST] = seen[_MEAN] = reward
    seen[_SMALLEST] = min(seen[_SMALLEST], reward)
    seen[_LARGEST] = max(seen[_LARGEST], reward)
    share = 1.0 / min(n, _RECENT)
    before = reward - seen[_MEAN]
    seen[_MEAN] += share * before
    seen[_SQUARE] += share * (before * (reward - seen[_MEAN]) - seen[_SQUARE])
    weight = min(1.0 / probability, _HEAVIEST)
    seen[_WEIGHT] += weight - share * seen[_WEIGHT]
    seen[_WEIGHTED] += weight * reward - share * seen[_WEIGHTED]
    seen[_OFFSET] = seen[_WEIGHTED] / seen[_WEIGHT]


@njit(nogil=True, error_model="numpy")
def _learn_stack(state, known, action, reward):
    """Least squares of the reward on the members' predictions, in deviations of the reward."""
    deviation, memory = np.sqrt(state.rewards_seen[_SQUARE]), state.told.stack_memory
    if deviation <= 0.0:
        return
    stack, inverse, v = state.stack, state.stack_inverse, state.stack_gain
    missed, q = (reward - state.rewards_seen[_OFFSET]) / deviation, 0.0
    for e in range(MEMBERS):
        missed -= stack[known, e] * (state.scores[e, action] / deviation)
    for e in range(MEMBERS):
        v[e] = 0.0
        for other in range(MEMBERS):
            v[e] += inverse[known, e, other] * (state.scores[other, action] / deviation)
        q += v[e] * (state.scores[e, action] / deviation)
    largest = 0.0
    for e in range(MEMBERS):
        stack[known, e] += missed * v[e] / (memory + q)
        for other in range(MEMBERS):
            change = v[e] * v[other] / (memory + q)
            inverse[known, e, other] = (inverse[known, e, other] - change) / memory
        largest = max(largest, inverse[known, e, e])
    if largest > 1.0:  # what is forgotten must not leave the weights free to run away
        for e in range(MEMBERS):
            for other in range(MEMBERS):
                inverse[known, e, other] /= largest


@njit(nogil=True, cache=True)
def learn(table, x, action, reward, probability):
    """Learn from an answer whose row was scored; whether there is more to do than that."""
    state = open_mixed(table)
    counts, scored = state.counts, state.scored
    number = counts[_SEEN]
    if number == 0:
        for j in range(x.shape[0]):
            state.shift[j] = x[j]
    place = number % state.log_rows.shape[0]
    for j in range(x.shape[0]):
        state.log_rows[place, j] = np.float32(x[j] - state.shift[j])
    state.log_actions[place] = action
    state.log_rewards[place] = reward
    if counts[_BUILT]:
        _learn_stack(state, scored[_KNOWN], action, reward)
        feed(state, counts[_LIVE], scored[_FOUND], action, reward, number, True)
    _learn_rewards(state, reward, probability)
    counts[_SEEN] = number + 1
    scored[_VALID] = 0
    return (
        counts[_STAGE] != 0
        or counts[_SEEN] >= counts[_NEXT]
        or number % RENEW_EVERY == 0
        or counts[_SEEN] % LOOK_EVERY == 0
    )


@njit(nogil=True, cache=True)
def expected(table, X, out):
    """Expected rewards of all actions for raw rows."""
    state = open_mixed(table)
    for i in range(X.shape[0]):
        score(table, X[i])
        for k in range(out.shape[1]):
            out[i, k] = state.total[k]


@njit(nogil=True, cache=True)
def play(table, X, y, order, first, right, wrong, allowed, losses):
    """Decide and learn for labelled rows in order, until there is more to do than that.

    The loss is 1 unless the action is the label. Returns how many rows were played.
    """
    state = open_mixed(table)
    for i in range(first, order.shape[0]):
        x = X[order[i]]
        score(table, x)
        action = choose(table, allowed, True)
        hit = action == y[order[i]]
        losses[i] = 0.0 if hit else 1.0
        if learn(table, x, action, right if hit else wrong, state.probabilities[action]):
            return i + 1
    return order.shape[0]
