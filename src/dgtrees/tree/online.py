"""The online step: forward, route, gradient and update of a tree in one compiled function.

`dot.py` has what all trees share (the dot product in its fixed order); here is what a tree needs
that learns from one answered query at a time. Everything a learner remembers is one `State` of
arrays that the functions change in place, everything it was told is one `Settings` of numbers, and
the loop over a stream (`simulate`) calls the same step as a single `learn_one` from Python, so that
both give the same state bit for bit.

Only functions that take plain arrays are cached on disk: a cache that names the classes of `state`
could not be read after these have changed.

Callers check their input and hold a lock: the functions release the GIL and share scratch arrays.

The tree is complete, in level order, and works on standardised features with a constant 1
appended, as in Algorithm 1: ``nodes`` is (2^h - 1, d + 1). ``leaves`` is (outputs, 2^h), so that
the values of one action lie side by side. Where a policy has linear scores, ``slopes`` is
(outputs, d + 1) and output k of leaf l is ``leaves[k, l] + slopes[k] @ [x; 1]``. Where the recipe
has an output bias, one learnt number is added to every output of every leaf.

One query's gradient has one non-zero output. With the closed form of Algorithm 2 (see
`gradient.tree_gradient`) a step takes two sweeps over 2^(h+1) numbers and one dot product a node.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot
from dgtrees.tree.state import (
    AVERAGE,
    GRADIENT,
    NEXT,
    PENDING,
    SEEN,
    SQUARE,
    UPDATES,
    VALUE,
    opened,
    settings_of,
)

__all__ = [
    "EXPLORATION",
    "FEEDBACK",
    "LARGEST",
    "LOSSES",
    "OPTIMIZERS",
    "SCALING",
    "action_probabilities",
    "decide",
    "learn_one",
    "learn_slope",
    "outputs",
    "perturb",
    "simulate_classes",
    "simulate_values",
    "usable",
]

LARGEST = 1e30
"""Features beyond this are refused; rows are remembered in float32."""

# Codes by name: the kernels compare numbers, everybody else uses the names.
FEEDBACK = {"logistic": 0, "squared": 1, "slope": 2}
OPTIMIZERS = {"adagrad": 0, "rmsprop": 1, "sgd": 2}
SCALING = {"standard": 0, "absolute": 1}
LOSSES = {"squared": 0, "absolute": 1}
EXPLORATION = {"epsilon": 0, "decaying": 1, "softmax": 2, "inverse_gap": 3, "greedy": 4}

_LOGISTIC, _SQUARED, _SLOPE = 0, 1, 2
_ADAGRAD, _RMSPROP, _SGD = 0, 1, 2
_SQUARED_ERROR = 0
_ABSOLUTE = 1
_NORMAL = 1.2533141373155003  # standard over mean absolute deviation, of a normal distribution
_EPSILON, _DECAYING, _SOFTMAX, _INVERSE_GAP, _GREEDY = 0, 1, 2, 3, 4

_DECIDE, _LEARN = 0, 1  # two streams of random numbers: learning late changes no exploration

_SHORTEST = 0.2  # share of delta that is left of a step at a bound
_STEEPEST = 1e18  # of a node's gradients: float32 holds their squares, and sums of a great many

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


# Random numbers: SplitMix64, whose state is a single counter.


@njit(nogil=True)
def _uniform(random, stream):
    """The next number in [0, 1) of a stream."""
    random[stream] += _STEP
    bits = random[stream]
    bits = (bits ^ (bits >> _30)) * _MIX_1
    bits = (bits ^ (bits >> _27)) * _MIX_2
    bits = bits ^ (bits >> _31)
    return np.float64(bits >> _11) * 2.0**-53


# Features


@njit(nogil=True, error_model="numpy")
def _observe(x, settings, state):
    """Count a raw row into the running mean (Welford) and the scale of its features."""
    seen = state.counts[SEEN] + 1
    if seen == 1:
        state.shift[:] = x
    for j in range(x.shape[0]):
        value = x[j] - state.shift[j]
        before = value - state.mean[j]
        state.mean[j] += before / seen
        after = value - state.mean[j]
        state.square[j] += before * after
        state.absolute[j] += (abs(after) - state.absolute[j]) / seen
        variance = state.square[j] / seen
        # Below this a column is constant up to rounding.
        floor = 1e-24 * (state.shift[j] * state.shift[j] + state.mean[j] * state.mean[j])
        if variance > floor:
            scale = np.sqrt(variance)
            if settings.scaling == _ABSOLUTE and state.absolute[j] > 0.0:
                scale = min(scale, _NORMAL * state.absolute[j])
            state.inverse_scale[j] = 1.0 / scale
        else:
            state.inverse_scale[j] = 0.0


@njit(nogil=True)
def _standardise_raw(x, state, clip):
    for j in range(x.shape[0]):
        z = (x[j] - state.shift[j] - state.mean[j]) * state.inverse_scale[j]
        state.x[j] = min(max(z, -clip), clip)
    state.x[x.shape[0]] = 1.0


@njit(nogil=True)
def _standardise_kept(row, state, clip):
    for j in range(row.shape[0]):
        z = (row[j] - state.mean[j]) * state.inverse_scale[j]
        state.x[j] = min(max(z, -clip), clip)
    state.x[row.shape[0]] = 1.0


# Forward


@njit(nogil=True)
def _descend(nodes, x):
    """Leaf of a standardised row."""
    node = 0
    while node < nodes.shape[0]:
        node = 2 * node + (2 if dot(nodes[node], x) >= 0.0 else 1)
    return node - nodes.shape[0]


@njit(nogil=True)
def _score(leaves, slopes, bias, x, leaf, k):
    total = leaves[k, leaf] + bias
    if slopes.shape[0]:
        total += dot(slopes[k], x)
    return total


@njit(nogil=True)
def _answer(x, settings, state, scores):
    """Leaf of a raw row; its outputs go to `scores`. From averaged parameters if there are any."""
    _standardise_raw(x, state, settings.clip)
    averaged = settings.averaging > 0.0
    nodes = state.mean_nodes if averaged else state.nodes
    leaves = state.mean_leaves if averaged else state.leaves
    slopes = state.mean_slopes if averaged else state.slopes
    bias = state.bias[AVERAGE] if averaged else state.bias[VALUE]
    leaf = _descend(nodes, state.x)
    for k in range(scores.shape[0]):
        scores[k] = _score(leaves, slopes, bias, state.x, leaf, k)
    return leaf


@njit(nogil=True, cache=True)
def outputs(X, leaves, scores, *arena):
    """Leaf and outputs of raw rows, written to `leaves` (rows,) and `scores` (rows, outputs)."""
    settings, state = settings_of(arena[0]), opened(*arena)
    for row in range(X.shape[0]):
        leaves[row] = _answer(X[row], settings, state, scores[row])


@njit(nogil=True)
def _sigmoid(z):
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
                gap = _sigmoid(scores[best]) - _sigmoid(scores[k])
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
def _sample(probabilities, draw):
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


@njit(nogil=True)
def _decide(x, settings, state):
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
    action = _sample(state.probabilities, _uniform(state.random, _DECIDE))
    return action, state.probabilities[action], leaf


@njit(nogil=True)
def _perturb(x, settings, state):
    """Where to act for a raw row: a centre, a signed step from it, and the row's leaf."""
    _standardise_raw(x, state, settings.clip)
    leaf = _descend(state.nodes, state.x)
    z = _score(state.leaves, state.slopes, state.bias[VALUE], state.x, leaf, 0)
    room = 1.0 - _SHORTEST * settings.delta
    centre = min(max(z, -room), room)
    step = min(settings.delta, 1.0 - abs(centre))
    return centre, step if _uniform(state.random, _DECIDE) < 0.5 else -step, leaf


# Backward


@njit(nogil=True, error_model="numpy")
def _derivative(feedback, z, answer):
    """Derivative of the loss with respect to the output that was acted on."""
    if feedback == _SLOPE:
        # Actions end at -1 and 1: outputs beyond have no reason to go further.
        outward = (z > 1.0 and answer < 0.0) or (z < -1.0 and answer > 0.0)
        return 0.0 if outward else answer
    win = _sigmoid(z)
    residual = answer - (1.0 - win)
    if feedback == _SQUARED:  # eqn:classficationg, without its 1 / p
        return 2.0 * residual * win * (1.0 - win)
    return residual


@njit(nogil=True, error_model="numpy")
def _update_nodes(settings, state):
    """RMSprop on all nodes, with the sum of the gradients since the last time."""
    decay = np.float32(settings.node_decay)
    other = np.float32(1.0 - settings.node_decay)
    rate = settings.node_rate
    if settings.node_rate_half > 0.0:
        rate /= np.sqrt(1.0 + state.counts[SEEN] / settings.node_rate_half)
    rate32 = np.float32(rate)
    tiny = np.float32(settings.epsilon)
    zero, most = np.float32(0.0), np.float32(_STEEPEST)
    for n in range(state.nodes.shape[0]):
        weights, gradient, square = state.nodes[n], state.node_gradient[n], state.node_square[n]
        for j in range(weights.shape[0]):
            g = min(max(gradient[j], -most), most)
            square[j] = decay * square[j] + other * g * g
            weights[j] -= rate32 * g / (np.sqrt(square[j]) + tiny)
            gradient[j] = zero


@njit(nogil=True, error_model="numpy")
def _rmsprop(values, gradients, squares, rate, decay, tiny):
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            g = gradients[k, i]
            squares[k, i] = decay * squares[k, i] + (1.0 - decay) * g * g
            values[k, i] -= rate * g / (np.sqrt(squares[k, i]) + tiny)
            gradients[k, i] = 0.0


@njit(nogil=True)
def _sum_of_squares(gradients):
    total = 0.0
    for k in range(gradients.shape[0]):
        for i in range(gradients.shape[1]):
            total += np.float64(gradients[k, i]) * np.float64(gradients[k, i])
    return total


@njit(nogil=True)
def _shrink(gradients, factor):
    for k in range(gradients.shape[0]):
        for i in range(gradients.shape[1]):
            gradients[k, i] *= factor


@njit(nogil=True, error_model="numpy")
def _clip_gradient(settings, state):
    """Shorten the gradient of everything that waits for an update to at most `gradient_clip`."""
    norm = np.sqrt(
        _sum_of_squares(state.node_gradient)
        + _sum_of_squares(state.leaf_gradient)
        + _sum_of_squares(state.slope_gradient)
        + state.bias[GRADIENT] * state.bias[GRADIENT]
    )
    if norm > settings.gradient_clip:
        factor = settings.gradient_clip / norm
        _shrink(state.node_gradient, np.float32(factor))
        _shrink(state.leaf_gradient, factor)
        _shrink(state.slope_gradient, factor)
        state.bias[GRADIENT] *= factor


@njit(nogil=True)
def _average(mean, values, share):
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            mean[k, i] += share * (values[k, i] - mean[k, i])


@njit(nogil=True, error_model="numpy")
def _update_leaf(settings, state, k, leaf, g):
    """AdaGrad and SGD act at once and on the entries concerned; RMSprop on all, at intervals."""
    bias = state.bias
    if settings.leaf_optimizer == _ADAGRAD:
        state.leaf_square[k, leaf] += g * g
        if g != 0.0:
            state.leaves[k, leaf] -= settings.leaf_rate * g / np.sqrt(state.leaf_square[k, leaf])
            if settings.output_bias:
                bias[SQUARE] += g * g
                bias[VALUE] -= settings.leaf_rate * g / np.sqrt(bias[SQUARE])
        if state.slopes.shape[0]:
            slopes, squares, x = state.slopes[k], state.slope_square[k], state.x
            for j in range(x.shape[0]):
                s = g * x[j]
                squares[j] += s * s
                slopes[j] -= settings.slope_rate * s / np.sqrt(squares[j] + 1e-16)
    elif settings.leaf_optimizer == _SGD:
        state.leaves[k, leaf] -= settings.leaf_rate * g
        if settings.output_bias:
            bias[VALUE] -= settings.leaf_rate * g
        if state.slopes.shape[0]:
            for j in range(state.x.shape[0]):
                state.slopes[k, j] -= settings.slope_rate * g * state.x[j]
    else:
        state.leaf_gradient[k, leaf] += g
        if settings.output_bias:
            bias[GRADIENT] += g
        if state.slopes.shape[0]:
            for j in range(state.x.shape[0]):
                state.slope_gradient[k, j] += g * state.x[j]


@njit(nogil=True, error_model="numpy")
def _update(settings, state):
    """Everything that waits for its gradients to be summed, and the running averages."""
    if settings.gradient_clip > 0.0:
        _clip_gradient(settings, state)
    _update_nodes(settings, state)
    if settings.leaf_optimizer == _RMSPROP:
        decay, tiny, bias = settings.node_decay, settings.epsilon, state.bias.reshape((4, 1))
        leaves = (state.leaves, state.leaf_gradient, state.leaf_square)
        _rmsprop(*leaves, settings.leaf_rate, decay, tiny)
        slopes = (state.slopes, state.slope_gradient, state.slope_square)
        _rmsprop(*slopes, settings.slope_rate, decay, tiny)
        if settings.output_bias:
            places = (bias[VALUE:GRADIENT], bias[GRADIENT:SQUARE], bias[SQUARE:AVERAGE])
            _rmsprop(*places, settings.leaf_rate, decay, tiny)
    state.counts[UPDATES] += 1
    if settings.averaging > 0.0:
        share = 1.0 / (1.0 + settings.averaging * state.counts[UPDATES])
        _average(state.mean_nodes, state.nodes, np.float32(share))
        _average(state.mean_leaves, state.leaves, share)
        _average(state.mean_slopes, state.slopes, share)
        state.bias[AVERAGE] += share * (state.bias[VALUE] - state.bias[AVERAGE])


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

    z = _score(state.leaves, state.slopes, state.bias[VALUE], x, leaf, k)
    derivative = _derivative(settings.feedback, z, answer)
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
            s = np.float32(min(max(g_node * slope, -_STEEPEST), _STEEPEST))
            gradient = state.node_gradient[n]
            for j in range(x.shape[0]):
                gradient[j] += s * x[j]

    _update_leaf(settings, state, k, leaf, g_leaf)
    state.counts[PENDING] += 1
    if state.counts[PENDING] >= settings.accumulate:
        state.counts[PENDING] = 0
        _update(settings, state)


@njit(nogil=True)
def _learn_one(x, action, answer, probability, settings, state):
    """Learn from one answered query and from `settings.replay` remembered ones."""
    _observe(x, settings, state)
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
            _standardise_raw(x, state, settings.clip)
            k = int(action)
        else:
            place = int(_uniform(state.random, _LEARN) * kept)
            _standardise_kept(state.memory[place], state, settings.clip)
            k = int(state.answers[place, 0])
            answer = state.answers[place, 1]
            probability = state.answers[place, 2]
        _step(k, answer, probability, settings, state)


@njit(nogil=True)
def _bounded(slope):
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
        _standardise_raw(x, state, settings.clip)
        leaf = _descend(state.nodes, state.x)
        mean, seen = state.baseline[leaf], state.baseline_counts[leaf]
        if seen == 0.0:
            mean = state.baseline[leaf] = loss
        slope = (loss - mean) * step / (settings.delta * settings.delta)
        state.baseline[leaf] += (loss - mean) / (1.0 + 0.1 * seen)
        state.baseline_counts[leaf] += 1.0
    _learn_one(x, 0, _bounded(slope), 1.0, settings, state)


@njit(nogil=True)
def _known_loss(kind, action, y):
    error = action - y
    return error * error if kind == _SQUARED_ERROR else abs(error)


@njit(nogil=True, cache=True)
def simulate_values(X, y, order, kind, low, high, losses, visits, *arena):
    """Decide and learn for the rows of X in `order`, with squared or absolute error as the loss.

    Actions and steps are rounded as those of a `ContinuousDecision` are: `learn` sees no others.
    """
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    settings, state = settings_of(arena[0]), opened(*arena)
    for i in range(order.shape[0]):
        x, target = X[order[i]], y[order[i]]
        centre, step, leaf = _perturb(x, settings, state)
        first = min(max(middle + half * (centre + step), low), high)
        loss = other = _known_loss(kind, first, target)
        if settings.two_point:
            second = min(max(middle + half * (centre - step), low), high)
            other = _known_loss(kind, second, target)
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
    settings, state = settings_of(arena[0]), opened(*arena)
    for i in range(order.shape[0]):
        x = X[order[i]]
        action, probability, leaf = _decide(x, settings, state)
        hit = action == y[order[i]]
        _learn_one(x, action, right if hit else wrong, probability, settings, state)
        losses[i] = 0.0 if hit else 1.0
        visits[leaf] += 1


@njit(nogil=True, cache=True)
def usable(x):
    """Whether every number of a row is finite and of a size that can be squared and stored."""
    bad = 0
    for j in range(x.shape[0]):
        if not abs(x[j]) <= LARGEST:  # NaN too
            bad += 1
    return bad == 0


@njit(nogil=True, cache=True)
def decide(x, *arena):
    """Action for a raw row, the probability with which it was drawn, and the row's leaf."""
    return _decide(x, settings_of(arena[0]), opened(*arena))


@njit(nogil=True, cache=True)
def perturb(x, *arena):
    """Where to act for a raw row: a centre, a signed step from it, and the row's leaf.

    In units in which actions go from -1 to 1; the step is shorter than delta near these bounds.
    From the parameters that learn, not from their average: the slope is wanted where they are.
    """
    return _perturb(x, settings_of(arena[0]), opened(*arena))


@njit(nogil=True, cache=True)
def learn_one(x, action, answer, probability, *arena):
    """Learn from one answered query and from `settings.replay` remembered ones."""
    _learn_one(x, action, answer, probability, settings_of(arena[0]), opened(*arena))


@njit(nogil=True, cache=True)
def learn_slope(x, step, loss, other, *arena):
    """Learn from the loss at centre + step and, for two points, from the other at centre - step."""
    _learn_slope(x, step, loss, other, settings_of(arena[0]), opened(*arena))
