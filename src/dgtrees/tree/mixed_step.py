"""Decide and learn: what a mixed learner does for one row, and for a stream of them.

Three members predict the reward of every action: a ridge regression on the columns, one with
products of columns, and the linear one corrected by the nearest kept answers. Their predictions are
stacked: a small regression, which forgets, learns what each of them counts. The best action after a
bonus for what the linear member is unsure of is drawn, or any, uniformly, with a small share that
decays.

Rewards may have any scale: predictions are drawn towards the mean reward of uniform draws, the
bonus is in deviations of the reward, and predictions are cut near the smallest and the largest.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.exploration import sample_action
from dgtrees.tree.least_squares import invert, predict, width
from dgtrees.tree.mixed_build import begin_build, build_some, feed
from dgtrees.tree.mixed_change import notice_change
from dgtrees.tree.mixed_rows import load, multiply, transform
from dgtrees.tree.mixed_state import DECIDE, MEMBERS, Counts, Rewards
from dgtrees.tree.neighbours import SAME, find
from dgtrees.tree.random_numbers import draw_uniform

__all__ = ["decide", "expected", "learn", "play", "probabilities"]

_SEEN, _LIVE, _BUILT, _STAGE = Counts.SEEN, Counts.LIVE, Counts.BUILT, Counts.STAGE
_LOW, _NEXT = Counts.LOW, Counts.NEXT
_WEIGHT, _WEIGHTED, _OFFSET = Rewards.WEIGHT, Rewards.WEIGHTED, Rewards.OFFSET
_MEAN, _SQUARE = Rewards.MEAN, Rewards.SQUARE
_SMALLEST, _LARGEST = Rewards.SMALLEST, Rewards.LARGEST

_RECENT = 1000.0  # answers that mean and deviation of the reward look back over
_HEAVIEST = 1e6  # an answer counts 1 / probability in the mean of uniform draws, but no more
_SETTLED = 5000  # answers after which scales and products change little
_RENEWAL = 256  # answers after which the inverses of another action are computed anew


@njit(nogil=True, error_model="numpy")
def _correct(state, told, slot, found):
    """The linear member's scores, drawn towards the rewards of the neighbours."""
    near, scores = state.near, state.scores
    actions = scores.shape[1]
    weights, sums = np.zeros(actions), np.zeros(actions)
    if found:
        farthest = near.distances[found - 1] + 1e-9
        for q in range(found):
            i = near.nearest[q]
            k = near.actions[slot, i]
            closeness = 1.0 / (near.distances[q] / farthest + told.closest)
            weight = closeness * closeness * min(near.counts[slot, i], told.most)
            if told.half_life > 0.0:
                weight *= 2.0 ** ((near.times[slot, i] - state.counts[_SEEN]) / told.half_life)
            weights[k] += weight
            sums[k] += weight * (near.rewards[slot, i] - scores[0, k])
    for k in range(actions):
        scores[2, k] = scores[0, k] + sums[k] / (weights[k] + told.prior)


@njit(nogil=True)
def _score(state, told):
    """Predictions of all members for the row in `state.scaled`, and their stacked total.

    Returns how many neighbours there are, and whether one is the row itself.
    """
    slot, seen = state.counts[_LIVE], state.rewards_seen
    offset = seen[_OFFSET]
    transform(state, slot, told.clip)
    multiply(state, slot)
    for k in range(state.total.shape[0]):
        state.scores[0, k] = predict(state.linear, slot, k, state.row, offset)
        state.scores[1, k] = predict(state.product, slot, k, state.products, offset)
    columns = state.row.shape[0] - 1
    found = find(state.near, slot, state.row[:columns])
    _correct(state, told, slot, found)
    # Rows that came before are remembered, which says nothing about what neighbours know of others.
    known = 1 if found and state.near.distances[0] <= SAME else 0
    reach = 0.5 * (seen[_LARGEST] - seen[_SMALLEST])
    for k in range(state.total.shape[0]):
        total = offset
        for e in range(MEMBERS):
            score = min(max(state.scores[e, k], seen[_SMALLEST] - reach), seen[_LARGEST] + reach)
            state.scores[e, k] = score - offset
            total += state.stack[known, e] * (score - offset)
        state.total[k] = total
    return found, known


@njit(nogil=True, error_model="numpy")
def _share(state, told, allowed):
    """Probabilities of all actions for the row in `state.scaled`; what `_score` found."""
    found, known = _score(state, told)
    counts, total, chances = state.counts, state.total, state.probabilities
    actions = total.shape[0]
    # While all rewards are equal, what is unknown decides alone, and not the order of actions.
    variance = state.rewards_seen[_SQUARE]
    deviation = np.sqrt(variance) if variance > 0.0 else 1.0
    best, many, highest = -1, 0, 0.0
    for k in range(actions):
        if allowed[k]:
            many += 1
            credit = told.bonus * deviation * width(state.linear, counts[_LIVE], k, state.row)
            if best < 0 or total[k] + credit > highest:
                best, highest = k, total[k] + credit
    share = 1.0
    if counts[_BUILT]:
        age = counts[_SEEN] - counts[_LOW]
        share = max(told.least_explore, told.explore * np.sqrt(actions / (actions + age)))
    for k in range(actions):
        chances[k] = share / many if allowed[k] else 0.0
    chances[best] += 1.0 - share
    return found, known


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
def _learn_stack(state, told, known, action, reward):
    """Least squares of the reward on the members' predictions, in deviations of the reward."""
    deviation = np.sqrt(state.rewards_seen[_SQUARE])
    if deviation <= 0.0:
        return
    stack, inverse = state.stack[known], state.stack_inverse[known]
    scores, v = np.empty(MEMBERS), np.zeros(MEMBERS)
    missed, q = (reward - state.rewards_seen[_OFFSET]) / deviation, 0.0
    for e in range(MEMBERS):
        scores[e] = state.scores[e, action] / deviation
        missed -= stack[e] * scores[e]
    for e in range(MEMBERS):
        for other in range(MEMBERS):
            v[e] += inverse[e, other] * scores[other]
        q += v[e] * scores[e]
    largest = 0.0
    for e in range(MEMBERS):
        stack[e] += missed * v[e] / (told.stack_memory + q)
        for other in range(MEMBERS):
            change = v[e] * v[other] / (told.stack_memory + q)
            inverse[e, other] = (inverse[e, other] - change) / told.stack_memory
        largest = max(largest, inverse[e, e])
    if largest > 1.0:  # what is forgotten must not leave the weights free to run away
        for e in range(MEMBERS):
            for other in range(MEMBERS):
                inverse[e, other] /= largest


@njit(nogil=True)
def _learn(state, told, x, action, reward, probability, found, known):
    """Learn from an answer whose row has just been scored, with these neighbours."""
    counts = state.counts
    number, slot = counts[_SEEN], counts[_LIVE]
    if number == 0:
        state.shift[:] = x
    place = number % state.log_rows.shape[0]
    for j in range(x.shape[0]):
        state.log_rows[place, j] = np.float32(x[j] - state.shift[j])
    state.log_actions[place] = action
    state.log_rewards[place] = reward
    if counts[_BUILT]:
        _learn_stack(state, told, known, action, reward)
        feed(state, told, slot, found, action, reward, number, True)
    _learn_rewards(state, reward, probability)
    counts[_SEEN] = number + 1
    if counts[_STAGE]:
        build_some(state, told)
    elif counts[_SEEN] >= counts[_NEXT]:
        # A log that has gone round knows less than the sums in use.
        if told.half_life > 0.0 or counts[_SEEN] - counts[_LOW] <= state.log_rows.shape[0]:
            begin_build(state, told)
        _plan_next(state, told)
    elif counts[_BUILT] and number % _RENEWAL == 0:
        k = number // _RENEWAL % state.total.shape[0]
        invert(state.linear, slot, k, told.ridge)
        invert(state.product, slot, k, told.product_ridge)
    if told.notice_change and notice_change(state):
        begin_build(state, told)
        _plan_next(state, told)


@njit(nogil=True)
def _plan_next(state, told):
    """When to begin the next successor: as answers have doubled, later on quadrupled."""
    counts = state.counts
    age = counts[_SEEN] - counts[_LOW]
    counts[_NEXT] = counts[_SEEN] + (age if age < _SETTLED else 3 * age)
    if told.half_life > 0.0:
        counts[_NEXT] = counts[_SEEN] + max(16, min(age, int(told.half_life)))


@njit(nogil=True, cache=True)
def probabilities(state, told, x, allowed):
    """Bring the probabilities with which an action would be drawn to `state.probabilities`."""
    load(state, x)
    _share(state, told, allowed)


@njit(nogil=True, cache=True)
def decide(state, told, x, allowed):
    """The action drawn for a raw row; the probabilities are in `state.probabilities`."""
    load(state, x)
    _share(state, told, allowed)
    return sample_action(state.probabilities, draw_uniform(state.random, DECIDE))


@njit(nogil=True, cache=True)
def learn(state, told, x, action, reward, probability):
    """Learn from one answered query."""
    load(state, x)
    found, known = _score(state, told)
    _learn(state, told, x, action, reward, probability, found, known)


@njit(nogil=True, cache=True)
def expected(state, told, X, out):
    """Expected rewards of all actions for raw rows."""
    for i in range(X.shape[0]):
        load(state, X[i])
        _score(state, told)
        out[i] = state.total


@njit(nogil=True, cache=True)
def play(state, told, X, y, order, right, wrong, allowed, losses):
    """Decide and learn for labelled rows in order; the loss is 1 unless the action is the label."""
    for i in range(order.shape[0]):
        x = X[order[i]]
        load(state, x)
        found, known = _share(state, told, allowed)
        action = sample_action(state.probabilities, draw_uniform(state.random, DECIDE))
        hit = action == y[order[i]]
        probability = state.probabilities[action]
        reward = right if hit else wrong
        _learn(state, told, x, action, reward, probability, found, known)
        losses[i] = 0.0 if hit else 1.0
