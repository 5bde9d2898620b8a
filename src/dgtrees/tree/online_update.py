"""The backward pass of an online learner: derivatives of losses, and the updates of its tree."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.exploration import sigmoid
from dgtrees.tree.state import AVERAGE, GRADIENT, SEEN, SQUARE, UPDATES, VALUE

__all__ = ["FEEDBACK", "OPTIMIZERS", "STEEPEST", "derive_loss", "update_leaf", "update_tree"]

# Codes by name: kernels compare numbers, everybody else uses the names.
FEEDBACK = {"logistic": 0, "squared": 1, "slope": 2}
OPTIMIZERS = {"adagrad": 0, "rmsprop": 1, "sgd": 2}

STEEPEST = 1e18  # of a node's gradients: float32 holds their squares, and sums of a great many

_SQUARED, _SLOPE = FEEDBACK["squared"], FEEDBACK["slope"]
_ADAGRAD, _RMSPROP, _SGD = OPTIMIZERS["adagrad"], OPTIMIZERS["rmsprop"], OPTIMIZERS["sgd"]


@njit(nogil=True, error_model="numpy")
def derive_loss(feedback, z, answer):
    """Derivative of the loss with respect to the output that was acted on."""
    if feedback == _SLOPE:
        # Actions end at -1 and 1: outputs beyond have no reason to go further.
        outward = (z > 1.0 and answer < 0.0) or (z < -1.0 and answer > 0.0)
        return 0.0 if outward else answer
    win = sigmoid(z)
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
    zero, most = np.float32(0.0), np.float32(STEEPEST)
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
def update_leaf(settings, state, k, leaf, g):
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
def update_tree(settings, state):
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
