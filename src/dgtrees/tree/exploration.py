"""Which action is drawn: the arithmetic of the rules that `bandit.explore` names and explains."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["EXPLORATION", "action_probabilities", "sample_action", "sigmoid"]

EXPLORATION = {"epsilon": 0, "decaying": 1, "softmax": 2, "inverse_gap": 3, "greedy": 4}
"""Codes by name: kernels compare numbers, everybody else uses the names."""

_EPSILON = EXPLORATION["epsilon"]
_DECAYING = EXPLORATION["decaying"]
_SOFTMAX = EXPLORATION["softmax"]
_INVERSE_GAP = EXPLORATION["inverse_gap"]


@njit(nogil=True)
def sigmoid(z):
    """1 / (1 + exp(-z)), which no z makes overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + np.exp(-z))
    small = np.exp(z)
    return small / (1.0 + small)


@njit(nogil=True, cache=True, error_model="numpy")
def action_probabilities(scores, rule, a, b, seen, probabilities):
    """Probability of every action given its score; `bandit.explore` says what the rules mean."""
    actions = scores.shape[0]
    best = 0
    for k in range(1, actions):
        if scores[k] > scores[best]:
            best = k
    if rule == _SOFTMAX:
        total = 0.0
        for k in range(actions):
            probabilities[k] = np.exp((scores[k] - scores[best]) / a)
            total += probabilities[k]
        for k in range(actions):
            probabilities[k] /= total
        return
    if rule == _INVERSE_GAP:
        gamma = min(a * (1.0 + seen) ** b, 1e300)  # infinity times no gap would be NaN
        rest = 1.0
        for k in range(actions):
            if k != best:
                gap = sigmoid(scores[best]) - sigmoid(scores[k])
                probabilities[k] = 1.0 / (actions + gamma * gap)
                rest -= probabilities[k]
        probabilities[best] = rest
        return
    share = 0.0
    if rule == _EPSILON:
        share = a
    elif rule == _DECAYING:
        share = max(b, a / (a + seen))
    for k in range(actions):
        probabilities[k] = share / actions
    probabilities[best] += 1.0 - share


@njit(nogil=True)
def sample_action(probabilities, draw):
    """The action at which the running sum of probabilities passes `draw`."""
    last = 0
    total = 0.0
    for k in range(probabilities.shape[0]):
        if probabilities[k] > 0.0:
            total += probabilities[k]
            last = k
            if draw < total:
                break
    return last
