"""Policies that were taught a little, for the tests of the room bandit."""

import numpy as np

from dgtrees.bandit import (
    DecayingEpsilon,
    Epsilon,
    Greedy,
    InverseGap,
    Softmax,
)
from dgtrees.model import file as model_file

RULES = [Epsilon(0.3), DecayingEpsilon(50, 0.1), Softmax(0.5), InverseGap(2.0, 0.5), Greedy()]


X = np.random.default_rng(0).normal(size=(400, 5)) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 0]


Y = (X[:, 0] > 0) + 2 * (X[:, 1] > 5)


def saved(policy, tmp_path):
    """All of a policy's file but the ids of its last answers, which tell the time."""
    path = tmp_path / "bytes.dgt"
    policy.save(path)
    header, arrays = model_file.read(path)
    arrays.pop("recent.ids", None)
    kept = {name: value for name, value in header.items() if not name.startswith("array")}
    model_file.write(path, kept, arrays)
    return path.read_bytes()


def teach(policy, rows=range(200)):
    for i in rows:
        decision = policy.decide(X[i])
        policy.learn(X[i], decision, float(decision.action != Y[i]))
    return policy


def teach_value(policy, rows=range(200)):
    for i in rows:
        decision = policy.decide(X[i])
        losses = [(action - Y[i]) ** 2 for action in decision.actions]
        policy.learn(X[i], decision, losses if len(losses) == 2 else losses[0])
    return policy
