"""The slow, readable online learner that the compiled one is compared with.

Everything in float64 and in plain sight; the node gradient is the paper's Algorithm 2, line by
line (`reference.algorithm_2`).
"""

from __future__ import annotations

import numpy as np

import reference

MASK = 2**64 - 1


def splitmix(state: int) -> tuple[int, float]:
    """Next state of the generator, and its number in [0, 1)."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    bits = state
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    bits ^= bits >> 31
    return state, (bits >> 11) * 2.0**-53


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def action_probabilities(scores, explore, seen):
    """Every rule of `dgtrees.bandit.explore`, from its definition."""
    scores = np.asarray(scores, dtype=float)
    K, best = len(scores), int(np.argmax(scores))
    greedy = np.eye(K)[best]
    if explore.rule == "greedy":
        return greedy
    if explore.rule == "epsilon":
        return (1 - explore.delta) * greedy + explore.delta / K
    if explore.rule == "decaying":
        delta = max(explore.floor, explore.half / (explore.half + seen))
        return (1 - delta) * greedy + delta / K
    if explore.rule == "softmax":
        weights = np.exp((scores - scores.max()) / explore.temperature)
        return weights / weights.sum()
    gamma = explore.scale * (1 + seen) ** explore.exponent
    loss = 1 - sigmoid(scores)
    p = 1 / (K + gamma * (loss - loss[best]))
    p[best] = 0
    p[best] = 1 - p.sum()
    return p


class SlowLearner:
    """Learns from (row, action, share of loss, probability) as a recipe says."""

    def __init__(self, state, recipe, linear):
        self.recipe, self.linear = recipe, linear
        self.nodes = state.nodes.astype(float)
        self.leaves = state.leaves.T.copy()  # (leaves, actions)
        self.slopes = np.zeros((self.leaves.shape[1], self.nodes.shape[1]))
        self.bias = state.bias[:1].copy()
        self.parameters = {
            "nodes": self.nodes,
            "leaves": self.leaves,
            "slopes": self.slopes,
            "bias": self.bias,
        }
        self.squares = {name: np.zeros_like(p) for name, p in self.parameters.items()}
        self.gradients = {name: np.zeros_like(p) for name, p in self.parameters.items()}
        self.means = {name: p.copy() for name, p in self.parameters.items()}
        self.random = [int(r) for r in state.random]
        self.rows, self.answers = [], []
        self.pending = self.updates = 0

    def standardised(self, x):
        """[x; 1] on the scale of all rows seen so far."""
        seen = np.array(self.rows)
        if len(seen) == 0:
            return np.append(np.zeros(len(x)), 1.0)
        sd = seen.std(axis=0)
        if self.recipe.scaling == "absolute":
            # Each row's deviation is from the mean as it was when the row came.
            means = np.cumsum(seen, axis=0) / np.arange(1, len(seen) + 1)[:, None]
            sd = np.minimum(sd, np.sqrt(np.pi / 2) * np.abs(seen - means).mean(axis=0))
        z = np.where(sd > 0, (x - seen.mean(axis=0)) / np.where(sd > 0, sd, 1), 0)
        return np.append(np.clip(z, -self.recipe.clip, self.recipe.clip), 1.0)

    def scores(self, x):
        """Scores of all actions from the parameters that act."""
        p = self.means if self.recipe.averaging > 0 else self.parameters
        z = self.standardised(x)
        leaf = reference.route_all_nodes(z[None, :-1], p["nodes"][:, :-1], p["nodes"][:, -1])[0]
        return p["leaves"][leaf] + self.linear * (p["slopes"] @ z) + p["bias"]

    def decide(self, x):
        self.random[0], draw = splitmix(self.random[0])
        p = action_probabilities(self.scores(x), self.recipe.explore, len(self.rows))
        return int(np.searchsorted(np.cumsum(p), draw, side="right")), p

    def learn(self, x, action, loss, probability):
        self.rows.append(np.asarray(x, dtype=float))
        self.answers.append((x, action, loss, probability))
        self.step(x, action, loss, probability)
        for _ in range(self.recipe.replay):
            self.random[1], draw = splitmix(self.random[1])
            self.step(*self.answers[int(draw * len(self.answers))])

    def step(self, x, k, loss, probability):
        recipe, x = self.recipe, self.standardised(x)
        leaf = reference.route_all_nodes(x[None, :-1], self.nodes[:, :-1], self.nodes[:, -1])[0]
        win = sigmoid(self.leaves[leaf, k] + self.linear * (self.slopes[k] @ x) + self.bias[0])
        g = loss - (1 - win)
        if recipe.residual == "squared":
            g *= 2 * win * (1 - win)
        f_nodes, f_leaf = reference.algorithm_2(x, self.nodes, self.leaves[:, k])
        assert f_leaf[leaf] == 1
        self.gradients["nodes"] += g * min(1 / probability, recipe.node_weight_cap) * f_nodes
        g *= min(1 / probability, recipe.leaf_weight_cap)
        self.gradients["leaves"][leaf, k] += g
        self.gradients["slopes"][k] += self.linear * g * x
        self.gradients["bias"] += recipe.output_bias * g
        if recipe.leaf_optimizer != "rmsprop":
            self.update("leaves", recipe.leaf_optimizer, recipe.leaf_rate)
            self.update("bias", recipe.leaf_optimizer, recipe.leaf_rate)
            self.update("slopes", recipe.leaf_optimizer, self.slope_rate)
        self.pending += 1
        if self.pending == recipe.accumulate:
            self.pending = 0
            for gradient in self.gradients.values():
                gradient /= recipe.accumulate if recipe.mean_gradients else 1
            norm = np.sqrt(sum((gradient**2).sum() for gradient in self.gradients.values()))
            if 0 < recipe.gradient_clip < norm:
                for gradient in self.gradients.values():
                    gradient *= recipe.gradient_clip / norm
            rate = recipe.node_rate / self.width
            if recipe.node_rate_half:
                rate /= np.sqrt(1 + len(self.rows) / recipe.node_rate_half)
            self.update("nodes", "rmsprop", rate)
            if recipe.leaf_optimizer == "rmsprop":
                self.update("leaves", "rmsprop", recipe.leaf_rate)
                self.update("bias", "rmsprop", recipe.leaf_rate)
                self.update("slopes", "rmsprop", self.slope_rate)
            self.updates += 1
            share = 1 / (1 + recipe.averaging * self.updates)
            for name, mean in self.means.items():
                mean += share * (self.parameters[name] - mean)

    @property
    def width(self):
        return np.sqrt(self.nodes.shape[1] - 1) if self.recipe.rates_by_width else 1.0

    @property
    def slope_rate(self):
        return self.recipe.slope_rate / self.width

    def update(self, name, optimizer, rate):
        g, square = self.gradients[name], self.squares[name]
        if optimizer == "sgd":
            step = g
        elif optimizer == "adagrad":
            square += g**2
            step = g / np.sqrt(square + 1e-30)
        else:
            memory = self.recipe.node_memory
            square *= memory
            square += (1 - memory) * g**2
            step = g / (np.sqrt(square) + self.recipe.epsilon)
        self.parameters[name] -= rate * step
        g[...] = 0
