"""A small learner of plain NumPy, for tests of what stands around a learner.

One ridge regression per action, kept exact by its sums, and epsilon-greedy draws.
"""

import numpy as np


class PlainLearner:
    EPSILON = 0.2

    def __init__(self, n_features, n_actions, *, half_life=None, seed=0):
        self.n_features, self.n_actions, self.n_answers = n_features, n_actions, 0
        self.gram = np.tile(np.eye(n_features + 1), (n_actions, 1, 1))
        self.moment = np.zeros((n_actions, n_features + 1))
        self.rng = np.random.default_rng(seed)

    def _weights(self):
        return np.stack(
            [np.linalg.solve(g, m) for g, m in zip(self.gram, self.moment, strict=True)]
        )

    def expected(self, X):
        return np.hstack([X, np.ones((len(X), 1))]) @ self._weights().T

    def probabilities(self, x, allowed):
        scores = np.where(allowed, self.expected(x[None])[0], -np.inf)
        chances = np.where(allowed, self.EPSILON / allowed.sum(), 0.0)
        chances[scores.argmax()] += 1.0 - self.EPSILON
        return chances

    def decide(self, x, allowed):
        chances = self.probabilities(x, allowed)
        return int(self.rng.choice(self.n_actions, p=chances)), chances

    def learn(self, x, action, reward, probability):
        z = np.append(x, 1.0)
        self.gram[action] += np.outer(z, z)
        self.moment[action] += reward * z
        self.n_answers += 1

    def add_features(self, count):
        old, new = self.n_features + 1, self.n_features + 1 + count
        kept = [*range(self.n_features), new - 1]
        gram = np.tile(np.eye(new), (self.n_actions, 1, 1))
        gram[np.ix_(range(self.n_actions), kept, kept)] = self.gram
        moment = np.zeros((self.n_actions, new))
        moment[:, kept] = self.moment
        self.gram, self.moment, self.n_features = gram, moment, self.n_features + count
        assert old + count == new

    def add_action(self, similar):
        size = self.n_features + 1
        gram, moment = np.eye(size), np.zeros(size)
        if similar is not None:
            gram = gram + np.einsum("k,kij->ij", similar, self.gram - np.eye(size))
            moment = similar @ self.moment
        self.gram = np.concatenate([self.gram, gram[None]])
        self.moment = np.concatenate([self.moment, moment[None]])
        self.n_actions += 1

    def reseed(self, seed):
        self.rng = np.random.default_rng(seed)

    def pack(self):
        state = self.rng.bit_generator.state
        settings = {"n_answers": self.n_answers, "random": {**state, "state": {}}}
        settings["words"] = {k: str(v) for k, v in state["state"].items()}
        return settings, {"gram": self.gram, "moment": self.moment}

    @classmethod
    def unpack(cls, settings, arrays):
        n_actions, size = arrays["moment"].shape
        made = cls(size - 1, n_actions)
        made.gram, made.moment = arrays["gram"].copy(), arrays["moment"].copy()
        made.n_answers = settings["n_answers"]
        words = {k: int(v) for k, v in settings["words"].items()}
        made.rng.bit_generator.state = {**settings["random"], "state": words}
        return made

    def stream(self, X, y, order, right, wrong):
        losses = np.empty(len(order))
        for i, row in enumerate(order):
            x = X[row].astype(np.float64)
            action, chances = self.decide(x, np.ones(self.n_actions, dtype=bool))
            hit = action == y[row]
            self.learn(x, action, right if hit else wrong, chances[action])
            losses[i] = float(not hit)
        return losses

    def tree(self):
        return None
