"""The online step: forward, route, gradient and update of a tree in one compiled function.

Everything a learner remembers is one `State` of arrays that the functions change in place,
everything it was told is one record of numbers, and the loop over a stream (`simulate_classes`)
calls the same step as a single `learn_one` from Python, so that both give the same state bit for
bit. `running_scale`, `online_answer` and `online_update` have the parts of the step.

Only functions that take plain arrays are cached on disk: a cache that names the classes of `state`
could not be read after these have changed.

Callers check their input and hold a lock: the functions release the GIL and share scratch arrays.

The tree is complete, in level order, and works on standardised features with a constant 1
appended, as in Algorithm 1: ``nodes`` is (2^h - 1, d + 1). ``leaves`` is (outputs, 2^h), so that
the values of one action lie side by side. Where a policy has linear scores, ``slopes`` is
(outputs, d + 1) and output k of leaf l is ``leaves[k, l] + slopes[k] @ [x; 1]``. Where the recipe
has an output bias, one learnt number is added to every output of every leaf.

One query's gradient has one non-zero output. With the closed form of Algorithm 2 (see
`gradient.tree_gradient`) a step takes two sweeps over 2^(h+1) numbers and one dot product per node.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.action_losses import compute_loss
from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot
from dgtrees.tree.online_answer import LEARN, draw_action, draw_step, find_leaf, score_output
from dgtrees.tree.online_update import STEEPEST, derive_loss, update_leaf, update_tree
from dgtrees.tree.random_numbers import draw_uniform
from dgtrees.tree.running_scale import observe_row, standardise_kept, standardise_row
from dgtrees.tree.state import NEXT, PENDING, SEEN, VALUE, open_state

__all__ = [
    "decide",
    "learn_one",
    "learn_slope",
    "perturb",
    "simulate_classes",
    "simulate_values",
]


@njit(nogil=True, error_model="numpy")
def _step(k, answer, probability, settings, state):
    """Learn from one answered query whose standardised row is in `state.x`."""
    nodes, x, a = state.nodes, state.x, state.activations
    n_nodes = nodes.shape[0]
    for n in range(n_nodes):
        a[n] = dot(nodes[n], x)
    node = 0
    while node < n_nodes:
        node = 2 * node + (2 if a[node] >= 0.0 else 1)
    leaf = node - n_nodes

    z = score_output(state.leaves, state.slopes, state.bias[VALUE], x, leaf, k)
    derivative = derive_loss(settings.feedback, z, answer)
    g_node = derivative * min(1.0 / probability, settings.node_weight_cap)
    g_leaf = derivative * min(1.0 / probability, settings.leaf_weight_cap)

    value, reach, toward = state.value, state.reach, settings.toward
    away = 1.0 - toward
    for i in range(n_nodes + 1):
        value[n_nodes + i] = state.leaves[k, i]
    for n in range(n_nodes - 1, -1, -1):
        p = toward if a[n] >= 0.0 else away
        value[n] = value[2 * n + 1] + p * (value[2 * n + 2] - value[2 * n + 1])
    mean = value[0]
    reach[0] = 1.0
    for n in range(n_nodes):
        right = reach[n] * (toward if a[n] >= 0.0 else away)
        left = reach[n] - right
        reach[2 * n + 2] = right
        reach[2 * n + 1] = left
        if abs(a[n]) <= 1.0:
            slope = right * (value[2 * n + 2] - mean) - left * (value[2 * n + 1] - mean)
            s = np.float32(min(max(g_node * slope, -STEEPEST), STEEPEST))
            gradient = state.node_gradient[n]
            for j in range(x.shape[0]):
                gradient[j] += s * x[j]

    update_leaf(settings, state, k, leaf, g_leaf)
    state.counts[PENDING] += 1
    if state.counts[PENDING] >= settings.accumulate:
        state.counts[PENDING] = 0
        update_tree(settings, state)


@njit(nogil=True)
def _learn_one(x, action, answer, probability, settings, state):
    """Learn from one answered query and from `settings.replay` remembered ones."""
    observe_row(x, settings, state)
    state.counts[SEEN] += 1
    room = state.memory.shape[0]
    if room:
        place = state.counts[NEXT] % room
        state.counts[NEXT] = place + 1
        for j in range(x.shape[0]):
            state.memory[place, j] = x[j] - state.shift[j]
        state.answers[place, 0] = action
        state.answers[place, 1] = answer
        state.answers[place, 2] = probability
    # One call of the step in the source: two would be compiled twice.
    kept = min(state.counts[SEEN], room)
    for i in range(1 + (settings.replay if kept else 0)):
        if i == 0:
            standardise_row(x, state, settings.clip)
            k = int(action)
        else:
            place = int(draw_uniform(state.random, LEARN) * kept)
            standardise_kept(state.memory[place], state, settings.clip)
            k = int(state.answers[place, 0])
            answer = state.answers[place, 1]
            probability = state.answers[place, 2]
        _step(k, answer, probability, settings, state)


@njit(nogil=True)
def _limit_slope(slope):
    """A slope whose square float32 can hold, also after tiny steps."""
    return min(max(slope, -1e15), 1e15)


@njit(nogil=True)
def _learn_slope(x, step, loss, other, settings, state):
    """Learn from the loss at centre + step and, for two points, from the other at centre - step."""
    if settings.two_point:  # eqn:twopoint
        slope = (loss - other) / (2.0 * step)
    elif not settings.baseline:  # eqn:onepoint: loss * u / delta, with step = delta * u
        slope = loss / step
    else:
        # eqn:onepoint, with a running mean of the leaf's losses subtracted: the same expectation,
        # less variance. Steps that a bound cut short count less, by the variance that they add.
        standardise_row(x, state, settings.clip)
        leaf = find_leaf(state.nodes, state.x)
        mean, seen = state.baseline[leaf], state.baseline_counts[leaf]
        if seen == 0.0:
            mean = state.baseline[leaf] = loss
        slope = (loss - mean) * step / (settings.delta * settings.delta)
        state.baseline[leaf] += (loss - mean) / (1.0 + 0.1 * seen)
        state.baseline_counts[leaf] += 1.0
    _learn_one(x, 0, _limit_slope(slope), 1.0, settings, state)


@njit(nogil=True, cache=True)
def simulate_values(X, y, order, kind, low, high, losses, visits, *arena):
    """Decide and learn for the rows of X in `order`, with squared or absolute error as the loss.

    Actions and steps are rounded as those of a `ContinuousDecision` are: `learn` sees no others.
    """
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    settings, state = arena[0][0], open_state(*arena)
    for i in range(order.shape[0]):
        x, target = X[order[i]], y[order[i]]
        centre, step, leaf = draw_step(x, settings, state)
        first = min(max(middle + half * (centre + step), low), high)
        loss = other = compute_loss(kind, first, target)
        if settings.two_point:
            second = min(max(middle + half * (centre - step), low), high)
            other = compute_loss(kind, second, target)
            step = (first - second) / (2.0 * half)
        else:
            step = (first - min(max(middle + half * centre, low), high)) / half
        _learn_slope(x, step, loss, other, settings, state)
        losses[i] = 0.5 * (loss + other)
        visits[leaf] += 1


@njit(nogil=True, cache=True)
def simulate_classes(X, y, order, right, wrong, losses, visits, *arena):
    """Decide and learn for the rows of X in `order`; the loss is 1 unless the action is y.

    `right` and `wrong` are the losses 0 and 1 as shares of the policy's loss range.
    """
    settings, state = arena[0][0], open_state(*arena)
    for i in range(order.shape[0]):
        x = X[order[i]]
        action, probability, leaf = draw_action(x, settings, state)
        hit = action == y[order[i]]
        _learn_one(x, action, right if hit else wrong, probability, settings, state)
        losses[i] = 0.0 if hit else 1.0
        visits[leaf] += 1


@njit(nogil=True, cache=True)
def decide(x, *arena):
    """Action for a raw row, the probability with which it was drawn, and the row's leaf."""
    return draw_action(x, arena[0][0], open_state(*arena))


@njit(nogil=True, cache=True)
def perturb(x, *arena):
    """Where to act for a raw row: a centre, a signed step from it, and the row's leaf.

    In units in which actions go from -1 to 1; the step is shorter than delta near these bounds.
    From the parameters that learn, not from their average: the slope is wanted where they are.
    """
    return draw_step(x, arena[0][0], open_state(*arena))


@njit(nogil=True, cache=True)
def learn_one(x, action, answer, probability, *arena):
    """Learn from one answered query and from `settings.replay` remembered ones."""
    _learn_one(x, action, answer, probability, arena[0][0], open_state(*arena))


@njit(nogil=True, cache=True)
def learn_slope(x, step, loss, other, *arena):
    """Learn from the loss at centre + step and, for two points, from the other at centre - step."""
    _learn_slope(x, step, loss, other, arena[0][0], open_state(*arena))
