"""What a mixed learner adds up from answers, for the model in use and for the one in the making.

Each function that Python calls does the share of one answer in one stage of the work on a
successor, see `bandit.mixed_successor`, which says what these stages are.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.least_squares import accumulate, invert, predict, update
from dgtrees.tree.mixed_rows import load_kept, multiply, transform
from dgtrees.tree.mixed_state import LEARN, Counts, Rewards, open_mixed
from dgtrees.tree.neighbours import find, insert

__all__ = ["feed", "invert_action", "replay", "screen", "turn"]

_POINTER = Counts.POINTER


@njit(nogil=True)
def feed(state, slot, found, action, reward, number, invert_known):
    """Count an answer, whose row is in `state.row` and `state.products`, into a slot.

    `found` is how many neighbours of the row in this slot were brought to `state.near`.
    """
    weight = 1.0  # less for old answers, and more for new ones, where there is a half-life
    if state.told.half_life > 0.0:
        weight = 2.0 ** ((number - state.base[slot]) / state.told.half_life)
    if invert_known:
        update(state.linear, slot, action, state.row, reward, weight)
        update(state.product, slot, action, state.products, reward, weight)
    else:
        accumulate(state.linear, slot, action, state.row, reward, weight)
        accumulate(state.product, slot, action, state.products, reward, weight)
    insert(state.near, slot, state.row, found, action, reward, number, state.random, LEARN)


@njit(nogil=True, cache=True)
def turn(table, slot, place):
    """Power iteration: add a row of the log times its parts along the axes."""
    state = open_mixed(table)
    load_kept(state, place)
    transform(state, slot)
    gathered, row, scaled = state.gathered, state.row, state.scaled
    for i in range(gathered.shape[0]):
        for j in range(scaled.shape[0]):
            gathered[i, j] += row[i] * scaled[j]


@njit(nogil=True, cache=True)
def screen(table, slot, place):
    """Add what the linear member misses of an answer, times all products of its columns."""
    state = open_mixed(table)
    action, offset = np.int64(state.log_actions[place]), state.rewards_seen[Rewards.OFFSET]
    missed = state.log_rewards[place] - offset
    if state.counts[Counts.BUILT]:
        load_kept(state, place)
        transform(state, 1 - slot)
        expected = predict(state.linear, 1 - slot, action, state.row, offset)
        missed = state.log_rewards[place] - expected
    load_kept(state, place)
    transform(state, slot)
    found, noise, row = state.found, state.noise, state.row
    group = action % found.shape[0]
    for i in range(found.shape[1]):
        if row[i] != 0.0:
            for j in range(i + 1):
                product = missed * row[i] * row[j]
                found[group, i, j] += product
                noise[group, i, j] += product * product


@njit(nogil=True, cache=True)
def replay(table, slot, many, inverted):
    """Count the next answers of the log into the successor's sums.

    Actions below `inverted` have their inverses already, which follow.
    """
    state = open_mixed(table)
    counts = state.counts
    for _ in range(many):
        number = counts[_POINTER]
        place = number % state.log_rows.shape[0]
        load_kept(state, place)
        transform(state, slot)
        multiply(state, slot)
        action, reward = np.int64(state.log_actions[place]), state.log_rewards[place]
        found = find(state.near, slot, state.row)
        feed(state, slot, found, action, reward, number, action < inverted)
        counts[_POINTER] += 1


@njit(nogil=True, cache=True)
def invert_action(table, slot, k):
    """Inverses and regressions of an action, anew from its sums."""
    state = open_mixed(table)
    invert(state.linear, slot, k, state.told.ridge)
    invert(state.product, slot, k, state.told.product_ridge)
