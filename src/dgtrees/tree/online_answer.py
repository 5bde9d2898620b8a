"""The forward pass of an online learner: a raw row's leaf, its outputs, and what to do for it."""

from __future__ import annotations

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot
from dgtrees.tree.exploration import action_probabilities, sample_action
from dgtrees.tree.random_numbers import draw_uniform
from dgtrees.tree.running_scale import standardise_row
from dgtrees.tree.state import AVERAGE, SEEN, VALUE, open_state

__all__ = ["DECIDE", "LEARN", "draw_action", "draw_step", "find_leaf", "outputs", "score_output"]

DECIDE, LEARN = 0, 1  # two streams of random numbers: learning late changes no exploration

_SHORTEST = 0.2  # share of delta that is left of a step at a bound


@njit(nogil=True)
def find_leaf(nodes, x):
    """Leaf of a standardised row."""
    node = 0
    while node < nodes.shape[0]:
        node = 2 * node + (2 if dot(nodes[node], x) >= 0.0 else 1)
    return node - nodes.shape[0]


@njit(nogil=True)
def score_output(leaves, slopes, bias, x, leaf, k):
    """Output k of a leaf for a standardised row."""
    total = leaves[k, leaf] + bias
    if slopes.shape[0]:
        total += dot(slopes[k], x)
    return total


@njit(nogil=True)
def _answer(x, settings, state, scores):
    """Leaf of a raw row; its outputs go to `scores`. From averaged parameters if there are any."""
    standardise_row(x, state, settings.clip)
    averaged = settings.averaging > 0.0
    nodes = state.mean_nodes if averaged else state.nodes
    leaves = state.mean_leaves if averaged else state.leaves
    slopes = state.mean_slopes if averaged else state.slopes
    bias = state.bias[AVERAGE] if averaged else state.bias[VALUE]
    leaf = find_leaf(nodes, state.x)
    for k in range(scores.shape[0]):
        scores[k] = score_output(leaves, slopes, bias, state.x, leaf, k)
    return leaf


@njit(nogil=True, cache=True)
def outputs(X, leaves, scores, *arena):
    """Leaf and outputs of raw rows, written to `leaves` (rows,) and `scores` (rows, outputs)."""
    settings, state = arena[0][0], open_state(*arena)
    for row in range(X.shape[0]):
        leaves[row] = _answer(X[row], settings, state, scores[row])


@njit(nogil=True)
def draw_action(x, settings, state):
    """Action for a raw row, the probability with which it was drawn, and the row's leaf."""
    leaf = _answer(x, settings, state, state.scores)
    action_probabilities(
        state.scores,
        settings.exploration,
        settings.explore_a,
        settings.explore_b,
        state.counts[SEEN],
        state.probabilities,
    )
    action = sample_action(state.probabilities, draw_uniform(state.random, DECIDE))
    return action, state.probabilities[action], leaf


@njit(nogil=True)
def draw_step(x, settings, state):
    """Where to act for a raw row: a centre, a signed step from it, and the row's leaf."""
    standardise_row(x, state, settings.clip)
    leaf = find_leaf(state.nodes, state.x)
    z = score_output(state.leaves, state.slopes, state.bias[VALUE], state.x, leaf, 0)
    room = 1.0 - _SHORTEST * settings.delta
    centre = min(max(z, -room), room)
    step = min(settings.delta, 1.0 - abs(centre))
    return centre, step if draw_uniform(state.random, DECIDE) < 0.5 else -step, leaf
