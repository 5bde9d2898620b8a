"""Axis-aligned trees that grow from bandit feedback: the compiled part of `cbf.py`.

A forest is a handful of flat arrays (`new_forest`), changed in place. A *variable* is a yes/no
question about one feature: does it lie in (low, high]? A node is open (it gathers, for a random
subset of variables, the rewards of every action on the yes side), settling (as deep as its tree
may be: actions are eliminated), done (one action is left) or split.

``nodes`` (trees, max_nodes, 6) int32
    First child (the second follows it), variable, depth, phase, action played last, slot.
``totals`` (trees, max_nodes, 2, actions)
    Plays and rewards. A child starts with those of its side of its parent's split.
``alive`` (trees, max_nodes, actions)
    Actions not eliminated.
``slots`` (n_slots, subset), ``left`` (n_slots,), ``own`` (n_slots, 2, actions),
``yes`` (n_slots, 2, actions, subset)
    What an open node gathers: the variables of its subset, how many of them are not eliminated
    (they come first), plays and rewards, and those of them on the yes side of each variable.
    A node takes a slot when it is first learnt from and gives it back when it is no longer open,
    so that memory stays as it was allocated. Without a free slot it waits.

Rewards lie from 0 to 1. A mean counts one failure more than there was: rewards / (plays + 1), so
that an action that was never played is never the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.random_numbers import draw_uniform

__all__ = ["Forest", "answers", "learn", "mean_rewards", "new_forest", "propose", "slot_bytes"]

CHILD, VARIABLE, DEPTH, PHASE, LAST, SLOT = range(6)
OPEN, SETTLING, DONE, SPLIT = range(4)


class Forest(NamedTuple):
    """All that a forest remembers; see the module docstring for what is not said here."""

    feature: np.ndarray
    """(variables,): the feature that each variable asks about."""
    low: np.ndarray
    high: np.ndarray
    n_nodes: np.ndarray
    max_depth: np.ndarray
    """(trees,)"""
    epsilon: np.ndarray
    """(trees,): how much worse than the best a variable or an action may be."""
    nodes: np.ndarray
    totals: np.ndarray
    alive: np.ndarray
    slots: np.ndarray
    left: np.ndarray
    own: np.ndarray
    yes: np.ndarray
    free: np.ndarray
    """Slots to take, used as a stack; the last place holds how many."""
    order: np.ndarray
    """(variables,): some permutation of the variables, from which subsets are drawn."""
    random: np.ndarray
    bits: np.ndarray
    """Scratch: the answers of the row at hand."""


def new_forest(
    variables: tuple[np.ndarray, np.ndarray, np.ndarray],
    n_actions: int,
    max_depth: np.ndarray,
    epsilon: np.ndarray,
    *,
    subset: int,
    max_nodes: int,
    n_slots: int,
    seed: int,
) -> Forest:
    """One open root a tree; `variables` are features, lower and upper bounds."""
    trees, count = len(max_depth), len(variables[0])
    nodes = np.zeros((trees, max_nodes, 6), dtype=np.int32)
    nodes[:, :, SLOT] = -1
    nodes[:, :, LAST] = -1
    return Forest(
        feature=variables[0].astype(np.int64),
        low=variables[1].astype(np.float64),
        high=variables[2].astype(np.float64),
        n_nodes=np.ones(trees, dtype=np.int64),
        max_depth=max_depth.astype(np.int64),
        epsilon=epsilon.astype(np.float64),
        nodes=nodes,
        totals=np.zeros((trees, max_nodes, 2, n_actions)),
        alive=np.ones((trees, max_nodes, n_actions), dtype=np.bool_),
        slots=np.zeros((n_slots, subset), dtype=np.int32),
        left=np.zeros(n_slots, dtype=np.int64),
        own=np.zeros((n_slots, 2, n_actions)),
        yes=np.zeros((n_slots, 2, n_actions, subset), dtype=np.float32),
        free=np.append(np.arange(n_slots)[::-1], n_slots),
        order=np.arange(count),
        random=np.array([seed], dtype=np.uint64),
        bits=np.zeros(count, dtype=np.uint8),
    )


@njit(nogil=True, cache=True)
def answers(x, feature, low, high, bits):
    """Every variable's answer about the row x, as 0 and 1."""
    for v in range(feature.shape[0]):
        value = x[feature[v]]
        bits[v] = (low[v] < value) & (value <= high[v])


@njit(nogil=True, cache=True)
def _find(nodes, bits):
    """The node of one tree that a row stops at."""
    node = 0
    while nodes[node, PHASE] == SPLIT:
        node = nodes[node, CHILD] + bits[nodes[node, VARIABLE]]
    return node


@njit(nogil=True, cache=True)
def _best(totals, alive):
    """The action alive with the best mean reward."""
    best, most = -1, -1.0
    for k in range(totals.shape[1]):
        if alive[k]:
            mean = totals[1, k] / (totals[0, k] + 1.0)
            if mean > most:
                best, most = k, mean
    return best


@njit(nogil=True, cache=True)
def propose(x, feature, low, high, nodes, totals, alive, bits, votes):
    """Every tree names an action: its node's turn, or the one that is left. Counts into votes."""
    answers(x, feature, low, high, bits)
    for tree in range(nodes.shape[0]):
        node = _find(nodes[tree], bits)
        row = nodes[tree, node]
        if row[PHASE] == DONE:
            action = _best(totals[tree, node], alive[tree, node])
        else:
            action = row[LAST]
            while True:
                action = (action + 1) % alive.shape[2]
                if alive[tree, node, action]:
                    break
            row[LAST] = action
        votes[action] += 1


@njit(nogil=True, cache=True)
def mean_rewards(X, feature, low, high, nodes, totals, alive, bits, votes, means):
    """Votes for the best action of every tree, and the trees' summed mean rewards, by row."""
    for i in range(X.shape[0]):
        answers(X[i], feature, low, high, bits)
        for tree in range(nodes.shape[0]):
            node = _find(nodes[tree], bits)
            total, here = totals[tree, node], alive[tree, node]
            votes[i, _best(total, here)] += 1
            for k in range(here.shape[0]):
                if here[k]:
                    means[i, k] += total[1, k] / (total[0, k] + 1.0)


@njit(nogil=True, cache=True)
def _radius(plays, log_factor, scale):
    if plays < 1.0:
        return np.inf
    return np.sqrt((log_factor + 2.0 * np.log(plays)) / (2.0 * plays)) / scale


@njit(nogil=True, cache=True, error_model="numpy")
def _worths(left, own, yes, edges, worth, radius):
    """Reward expected when a variable may choose between two actions, and its radius; for all.

    The chance of each side times its best action's mean there. Unlike the original's joint mean
    this does not ask that all actions are played equally often on both sides, which a vote of
    trees that have partly learnt does not grant. `edges` are the radii of the actions.

    Variables are the inner loop: they lie side by side, and the loop becomes vector instructions.
    """
    most_yes, most_no = np.full(left, -1.0), np.full(left, -1.0)
    edge_yes, edge_no = np.empty(left), np.empty(left)
    inside = np.zeros(left)
    for k in range(own.shape[1]):
        plays, rewards, edge = own[0, k], own[1, k], edges[k]
        for i in range(left):
            n, r = np.float64(yes[0, k, i]), np.float64(yes[1, k, i])
            inside[i] += n
            mean = r / (n + 1.0)
            better = mean > most_yes[i]
            most_yes[i] = mean if better else most_yes[i]
            edge_yes[i] = edge if better else edge_yes[i]
            mean = (rewards - r) / (plays - n + 1.0)
            better = mean > most_no[i]
            most_no[i] = mean if better else most_no[i]
            edge_no[i] = edge if better else edge_no[i]
    plays = own[0].sum()
    for i in range(left):
        share = inside[i] / plays
        worth[i] = most_yes[i] * share + most_no[i] * (1.0 - share)
        radius[i] = edge_yes[i] + edge_no[i]


@njit(nogil=True, cache=True)
def _take_slot(row, slots, left, own, yes, free, order, random):
    """A free slot for an open node, with a fresh random subset of the variables."""
    count = free[-1] - 1
    if count < 0:
        return
    free[-1] = count
    slot = free[count]
    row[SLOT] = slot
    for i in range(slots.shape[1]):
        j = i + int(draw_uniform(random, 0) * (order.shape[0] - i))
        order[i], order[j] = order[j], order[i]
        slots[slot, i] = order[i]
    left[slot] = slots.shape[1]
    own[slot] = 0.0
    yes[slot] = 0.0


@njit(nogil=True, cache=True)
def _give_slot(row, free):
    if row[SLOT] >= 0:
        free[free[-1]] = row[SLOT]
        free[-1] += 1
        row[SLOT] = -1


@njit(nogil=True, cache=True)
def _eliminate_variables(slots, left, own, yes, epsilon, log_factor, scale):
    """Drop variables that are worse than the best by their radii less epsilon; best comes first.

    How many are left.
    """
    worth, radius, edges = np.empty(left), np.empty(left), np.empty(own.shape[1])
    for k in range(own.shape[1]):
        edges[k] = _radius(own[0, k], log_factor, scale)
    _worths(left, own, yes, edges, worth, radius)
    best = np.argmax(worth)
    kept, first = 0, 0
    for i in range(left):
        gap = worth[best] - worth[i] + epsilon
        if i == best or gap < radius[i] + radius[best]:
            if kept != i:
                slots[kept] = slots[i]
                yes[:, :, kept] = yes[:, :, i]
            if i == best:
                first = kept
            kept += 1
    if first != 0:
        slots[0], slots[first] = slots[first], slots[0]
        for j in range(yes.shape[0]):
            for k in range(yes.shape[1]):
                yes[j, k, 0], yes[j, k, first] = yes[j, k, first], yes[j, k, 0]
    return kept


@njit(nogil=True, cache=True)
def _split(tree, node, slot, n_nodes, nodes, totals, slots, own, yes):
    """Two children for an open node, or none where its best variable tells nothing apart."""
    row = nodes[tree, node]
    inside, plays = yes[slot, 0, :, 0].sum(), own[slot, 0].sum()
    first = n_nodes[tree]
    if inside == 0 or inside == plays or first + 2 > nodes.shape[1]:
        row[PHASE] = SETTLING
        return
    n_nodes[tree] += 2
    row[CHILD], row[VARIABLE], row[PHASE] = first, slots[slot, 0], SPLIT
    for side in range(2):
        child = nodes[tree, first + side]
        child[DEPTH] = row[DEPTH] + 1
        for j in range(2):
            for k in range(own.shape[2]):
                part = np.float64(yes[slot, j, k, 0])
                totals[tree, first + side, j, k] = part if side else own[slot, j, k] - part


@njit(nogil=True, cache=True)
def _eliminate_actions(total, alive, epsilon, log_factor, scale):
    """Drop actions that are worse than the best by their radii less epsilon; how many are left."""
    best = _best(total, alive)
    most = total[1, best] / (total[0, best] + 1.0)
    edge = _radius(total[0, best], log_factor, scale)
    count = 0
    for k in range(alive.shape[0]):
        if not alive[k]:
            continue
        gap = most - total[1, k] / (total[0, k] + 1.0) + epsilon
        if k != best and gap >= edge + _radius(total[0, k], log_factor, scale):
            alive[k] = False
        else:
            count += 1
    return count


@njit(nogil=True, cache=True)
def _count(sums, asked, left, bits, amount):
    """Add to the variables that answer yes."""
    for i in range(left):
        sums[i] += np.float32(bits[asked[i]]) * amount


@njit(nogil=True, cache=True)
def learn(
    x, action, reward, delta, scale,
    feature, low, high, n_nodes, max_depth, epsilon, nodes, totals, alive,
    slots, left, own, yes, free, order, random, bits,
):  # fmt: skip
    """Take the reward of one action on row x into every tree."""
    answers(x, feature, low, high, bits)
    n_actions = alive.shape[2]
    for tree in range(nodes.shape[0]):
        node = _find(nodes[tree], bits)
        row = nodes[tree, node]
        totals[tree, node, 0, action] += 1.0
        totals[tree, node, 1, action] += reward
        if row[PHASE] == OPEN and row[DEPTH] >= max_depth[tree]:
            row[PHASE] = SETTLING
        confidence = 4.0 * n_actions * max_depth[tree] / delta
        if row[PHASE] == OPEN:
            if row[SLOT] < 0:
                _take_slot(row, slots, left, own, yes, free, order, random)
            slot = row[SLOT]
            if slot < 0:
                continue
            own[slot, 0, action] += 1.0
            own[slot, 1, action] += reward
            asked = slots[slot]
            _count(yes[slot, 0, action], asked, left[slot], bits, np.float32(1.0))
            if reward > 0.0:
                _count(yes[slot, 1, action], asked, left[slot], bits, np.float32(reward))
            # Bounds change slowly: one look in as many plays as there are actions.
            if own[slot, 0].sum() % n_actions == 0:
                log_factor = np.log(confidence * slots.shape[1])
                left[slot] = _eliminate_variables(
                    slots[slot], left[slot], own[slot], yes[slot], epsilon[tree], log_factor, scale
                )
                if left[slot] == 1:
                    _split(tree, node, slot, n_nodes, nodes, totals, slots, own, yes)
                    _give_slot(row, free)
        elif row[PHASE] == SETTLING and alive[tree, node, action]:
            here = alive[tree, node]
            count = _eliminate_actions(
                totals[tree, node], here, epsilon[tree], np.log(confidence), scale
            )
            if count == 1:
                row[PHASE] = DONE


def slot_bytes(n_actions: int, subset: int) -> int:
    """Memory of one open node's statistics."""
    return 8 * n_actions * subset + 4 * subset + 16 * n_actions + 8
