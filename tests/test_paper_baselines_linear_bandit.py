import pickle

import numpy as np
import pytest

from dgtrees.bandit import Decision
from dgtrees.paper.baselines import EpsilonGreedyLinear, LinUCB

FINITE = [
    lambda **o: LinUCB(3, **o),
    lambda **o: EpsilonGreedyLinear(3, **o),
    lambda **o: EpsilonGreedyLinear(3, update="sgd", **o),
]
names = ["linucb", "least squares", "sgd"]


def stream(rows=3000, seed=0):
    """Rows on very different scales; the best action is one of three linear scores."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 4))
    best = np.argmax(Z[:, :3] + np.array([0.2, 0.0, -0.2]), axis=1)
    return Z * [1.0, 1000.0, 0.001, 1.0] + [5.0, 0.0, 7.0, -3.0], best


def play(policy, X, best):
    decisions = []
    for x, right in zip(X, best, strict=True):
        decision = policy.decide(x)
        policy.learn(x, decision, float(decision.action != right))
        decisions.append(decision)
    return decisions


@pytest.mark.parametrize("make", FINITE, ids=names)
def test_finite_policies_learn_and_repeat(make):
    X, best = stream()
    policy = make(random_state=1)
    assert policy.predict(X[:5]).tolist() == [0] * 5
    decisions = play(policy, X, best)
    Xt, yt = stream(seed=9)
    assert np.mean(policy.predict(Xt) == yt) > 0.85
    assert decisions[0].probability == pytest.approx(1 / 3)
    assert all(isinstance(d, Decision) and 0 < d.probability <= 1 for d in decisions)
    assert decisions == play(make(random_state=1), X, best)
    assert decisions != play(make(random_state=2), X, best)


def test_rank_one_updates_are_ridge_regression():
    X, best = stream(400)
    policy = LinUCB(3, alpha=0.5, ridge=2.0, warm_up=50, random_state=0)
    decisions = play(policy, X, best)
    first = X[:50]
    Z = np.hstack([(X - first.mean(axis=0)) / first.std(axis=0), np.ones((400, 1))])
    losses = np.array([d.action != b for d, b in zip(decisions, best, strict=True)], dtype=float)
    actions = np.array([d.action for d in decisions])
    bounds = []
    for action in range(3):
        rows = actions == action
        gram = Z[rows].T @ Z[rows] + 2.0 * np.eye(5)
        exact = np.linalg.solve(gram, Z[rows].T @ losses[rows])
        assert policy.coefficients_[action] == pytest.approx(exact, abs=1e-9)
        bounds.append(Z[7] @ exact - 0.5 * np.sqrt(Z[7] @ np.linalg.solve(gram, Z[7])))
    assert policy.decide(X[7]) == Decision(int(np.argmin(bounds)), 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy_says_how_likely_it_was(epsilon):
    X, best = stream(300)
    policy = EpsilonGreedyLinear(3, epsilon=epsilon, random_state=0)
    play(policy, X, best)
    decisions = [policy.decide(X[0]) for _ in range(4000)]
    counts = np.bincount([d.action for d in decisions], minlength=3) / 4000
    for action in range(3):
        said = {d.probability for d in decisions if d.action == action}
        assert len(said) <= 1
        assert counts[action] == pytest.approx(said.pop() if said else 0.0, abs=0.03)


@pytest.mark.parametrize("make", FINITE, ids=names)
def test_late_feedback_in_another_order(make):
    X, best = stream(2000)
    policy = make(random_state=0)
    for start in range(0, 2000, 200):
        rows = range(start, start + 200)
        waiting = [(i, policy.decide(X[i])) for i in rows]
        for i, decision in reversed(waiting):
            policy.learn(X[i], decision, float(decision.action != best[i]))
    assert np.mean(policy.predict(X) == best) > 0.75


@pytest.mark.parametrize("make", FINITE, ids=names)
@pytest.mark.parametrize("rows", [3, 150])
def test_bad_feedback_is_refused_and_changes_nothing(make, rows):
    X, best = stream(rows)
    policy = make(random_state=0)
    play(policy, X, best)
    before = pickle.dumps(policy)
    good = Decision(1, 0.5)
    for x, decision, loss, message in [
        (X[0], good, 1.5, r"a loss must be from 0 to 1, got 1\.5"),
        (X[0], good, np.nan, "a loss must be from 0 to 1, got nan"),
        (X[0], Decision(3, 0.5), 0.0, "action must be a whole number from 0 to 2, got 3"),
        (X[0], Decision(-1, 0.5), 0.0, "action must be a whole number from 0 to 2, got -1"),
        (X[0], Decision(1, 0.0), 0.0, r"above 0 and at most 1, got 0\.0"),
        (X[0], Decision(1, 1.1), 0.0, r"above 0 and at most 1, got 1\.1"),
        (X[0] * np.nan, good, 0.0, "features must be finite"),
        (X[0][:2], good, 0.0, r"X must have shape \(rows, 4\), got \(1, 2\)"),
        (X[:2], good, 0.0, r"x must be one row of shape \(d,\), got shape \(2, 4\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            policy.learn(x, decision, loss)
    with pytest.raises(ValueError, match="features must be finite"):
        policy.decide(X[0] * np.inf)
    with pytest.raises(ValueError, match=r"X must have shape \(rows, 4\)"):
        policy.predict(X[:, :3])
    assert pickle.dumps(policy) == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinUCB(1), "n_actions must be a whole number from 2 to 100000, got 1"),
        (lambda: LinUCB(2.5), "n_actions must be a whole number from 2 to 100000, got 2.5"),
        (lambda: LinUCB(2, alpha=-1), "alpha must be at least 0, got -1"),
        (lambda: LinUCB(2, ridge=0), "ridge must be above 0, got 0"),
        (lambda: LinUCB(2, warm_up=1), "warm_up must be at least 2 rows, got 1"),
        (lambda: EpsilonGreedyLinear(2, epsilon=2), "epsilon must be from 0 to 1, got 2"),
        (lambda: EpsilonGreedyLinear(2, update="x"), "update must be 'least-squares' or 'sgd'"),
        (lambda: EpsilonGreedyLinear(2, learning_rate=0), "learning_rate must be above 0"),
    ],
)
def test_settings_that_cannot_be_meant(make, message):
    with pytest.raises(ValueError, match=message):
        make()
