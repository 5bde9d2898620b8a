import pickle

import numpy as np
import pytest

from dgtrees.bandit import Decision
from dgtrees.paper.baselines import ContextualBanditForest
from dgtrees.paper.baselines._forest_bandit import DONE, OPEN, SETTLING, SPLIT
from dgtrees.paper.baselines.cbf import bin_edges, one_hot_variables

SMALL = {"n_trees": 7, "max_depth": (5, 8), "warm_up": 60}


def stream(rows=4000, seed=0):
    """Three actions; two of four features, on very different scales, tell which is best.

    They do so at the 0.6-quantile, which is an edge between two of five bins.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 4))
    best = np.where(Z[:, 0] > 0.2533, 0, np.where(Z[:, 1] > 0.2533, 1, 2))
    return Z * [1.0, 1000.0, 0.001, 1.0] + [5.0, 0.0, 7.0, -3.0], best


def play(policy, X, best):
    decisions = []
    for x, right in zip(X, best, strict=True):
        decision = policy.decide(x)
        policy.learn(x, decision, float(decision.action != right))
        decisions.append(decision)
    return decisions


def test_a_small_problem_is_learnt_and_repeats():
    X, best = stream()
    policy = ContextualBanditForest(3, **SMALL, random_state=1)
    assert policy.predict(X[:5]).tolist() == [0] * 5
    decisions = play(policy, X, best)
    Xt, yt = stream(2000, seed=9)
    assert np.mean(policy.predict(Xt) == yt) > 0.9
    policy.aggregation = "mean"
    assert np.mean(policy.predict(Xt) == yt) > 0.9
    late = [d.action == b for d, b in zip(decisions[-500:], best[-500:], strict=True)]
    assert np.mean(late) > 0.85
    assert decisions[0].probability == pytest.approx(1 / 3)
    assert all(isinstance(d, Decision) and 0 < d.probability <= 1 for d in decisions)
    assert decisions == play(ContextualBanditForest(3, **SMALL, random_state=1), X, best)
    assert decisions != play(ContextualBanditForest(3, **SMALL, random_state=2), X, best)


def test_a_pickled_policy_goes_on_where_it_was():
    X, best = stream(1500)
    policy = ContextualBanditForest(3, **SMALL, random_state=0)
    play(policy, X[:1000], best[:1000])
    copy = pickle.loads(pickle.dumps(policy))
    assert play(policy, X[1000:], best[1000:]) == play(copy, X[1000:], best[1000:])


def test_given_edges_need_no_warm_up():
    X, best = stream(3000)
    edges = [[5.2533], [253.3], [], [-3.5, -2.5]]
    policy = ContextualBanditForest(3, 5, 3, edges=edges, random_state=0)
    play(policy, X, best)
    assert policy.n_nodes_.min() > 1
    assert np.mean(policy.predict(X) == best) > 0.95


# A tree in plain Python, from the paper's words: what the compiled one is compared with.


class SlowNode:
    def __init__(self, variables, n_actions, depth, totals):
        self.variables, self.depth = list(variables), depth
        self.totals = np.array(totals, dtype=float)  # plays and rewards, kept for prediction
        self.rows = []  # (answers, action, reward) seen here
        self.phase, self.alive, self.children, self.last = OPEN, [True] * n_actions, None, -1


class SlowTree:
    """One tree that may use all variables at every node, rewards of 0 and 1."""

    def __init__(self, variables, n_actions, depth, epsilon, delta, narrowing):
        self.questions = list(zip(*variables, strict=True))
        self.n_actions, self.depth, self.epsilon = n_actions, depth, epsilon
        self.delta, self.narrowing = delta, narrowing
        self.all = range(len(self.questions))
        self.root = SlowNode(self.all, n_actions, 0, np.zeros((2, n_actions)))

    def answers(self, x):
        return np.array([low < x[j] <= high for j, low, high in self.questions])

    def find(self, answers):
        node = self.root
        while node.phase == SPLIT:
            node = node.children[int(answers[node.variables[0]])]
        return node

    def turn(self, x):
        node = self.find(self.answers(x))
        if node.phase == DONE:
            return node.alive.index(True)
        alive = [k for k in range(self.n_actions) if node.alive[k]]
        node.last = next((k for k in alive if k > node.last), alive[0])
        return node.last

    def radius(self, plays, variables):
        if plays < 1:
            return np.inf
        inside = 4 * self.n_actions * self.depth * variables * plays**2 / self.delta
        return np.sqrt(np.log(inside) / (2 * plays)) / self.narrowing

    def sums(self, rows):
        table = np.zeros((2, self.n_actions))
        for _, action, reward in rows:
            table[:, action] += 1, reward
        return table

    def worth(self, node, v):
        value = radius = 0.0
        whole = self.sums(node.rows)
        for side in (False, True):
            rows = [row for row in node.rows if row[0][v] == side]
            plays, rewards = self.sums(rows)
            means = rewards / (plays + 1)
            value += means.max() * len(rows) / len(node.rows)
            radius += self.radius(whole[0, means.argmax()], len(self.questions))
        return value, radius

    def learn(self, x, action, reward):
        answers = self.answers(x)
        node = self.find(answers)
        node.totals[:, action] += 1, reward
        if node.phase == OPEN and node.depth == self.depth:
            node.phase = SETTLING
        if node.phase == OPEN:
            node.rows.append((answers, action, reward))
            if len(node.rows) % self.n_actions == 0:
                self.eliminate_variables(node)
        elif node.phase == SETTLING and node.alive[action]:
            self.eliminate_actions(node)

    def eliminate_variables(self, node):
        worth = {v: self.worth(node, v) for v in node.variables}
        best = max(node.variables, key=lambda v: (round(worth[v][0], 12), -v))
        top, edge = worth[best]
        node.variables = [
            v for v, (value, radius) in worth.items()
            if v == best or top - value + self.epsilon < radius + edge
        ]  # fmt: skip
        if len(node.variables) > 1:
            return
        sides = [[row for row in node.rows if row[0][best] == side] for side in (False, True)]
        if not sides[0] or not sides[1]:
            node.phase = SETTLING
            return
        node.phase = SPLIT
        node.children = [
            SlowNode(self.all, self.n_actions, node.depth + 1, self.sums(rows)) for rows in sides
        ]

    def eliminate_actions(self, node):
        plays, rewards = node.totals
        means = np.where(node.alive, rewards / (plays + 1), -1)
        best = means.argmax()
        for k in range(self.n_actions):
            wide = self.radius(plays[best], 1) + self.radius(plays[k], 1)
            if k != best and means[best] - means[k] + self.epsilon >= wide:
                node.alive[k] = False
        if sum(node.alive) == 1:
            node.phase = DONE


def test_a_tree_agrees_with_the_slow_reference():
    X, best = stream(1200, seed=3)
    edges = [bin_edges(column, 5) for column in X.T]
    policy = ContextualBanditForest(
        3, 1, 3, epsilon=0.4, max_features=1.0, edges=edges, random_state=0
    )
    slow = SlowTree(one_hot_variables(edges), 3, 3, 0.4, 0.05, 4.0)
    for x, right in zip(X, best, strict=True):
        decision = policy.decide(x)
        assert decision.action == slow.turn(x)
        policy.learn(x, decision, float(decision.action != right))
        slow.learn(x, decision.action, float(decision.action == right))
    forest = policy._forest
    seen = []

    def compare(i, node):
        seen.append(node.phase)
        assert forest.nodes[0, i, 3] == node.phase
        np.testing.assert_array_equal(forest.totals[0, i], node.totals)
        assert forest.alive[0, i].tolist() == node.alive
        if node.phase == SPLIT:
            assert forest.nodes[0, i, 1] == node.variables[0]
            for side, child in enumerate(node.children):
                compare(forest.nodes[0, i, 0] + side, child)
        elif node.phase == OPEN and node.rows:
            slot = forest.nodes[0, i, 5]
            left = forest.slots[slot, : forest.left[slot]]
            assert sorted(left) == sorted(node.variables)
            for place, v in enumerate(left):
                yes = slow.sums([row for row in node.rows if row[0][v]])
                np.testing.assert_array_equal(forest.yes[slot, :, :, place], yes)

    compare(0, slow.root)
    assert len(seen) == policy.n_nodes_[0] > 5
    assert DONE in seen


def test_memory_is_bounded_and_slots_come_back():
    X, best = stream(6000)
    tight = {**SMALL, "max_depth": 8, "max_nodes": 9, "memory": 1e-9}
    policy = ContextualBanditForest(3, **tight, random_state=0)
    play(policy, X, best)
    forest = policy._forest
    assert len(forest.left) == 1  # one node learns at a time, the others wait
    assert 1 < policy.n_nodes_.max() <= 9
    held = int((forest.nodes[:, :, 5] >= 0).sum())
    assert held + forest.free[-1] == 1


def test_bins_keep_often_repeated_values_apart():
    assert bin_edges(np.full(10, 3.0), 5).tolist() == []
    assert bin_edges(np.arange(100.0), 5).tolist() == [19.0, 39.0, 59.0, 79.0]
    mostly_one = np.array([0.0] + [1.0] * 99)
    assert bin_edges(mostly_one, 5).tolist() == [0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number from 2 to 100000, got 1"),
        ({"n_trees": 0}, "n_trees must be a whole number of at least 1, got 0: give 1 or more"),
        ({"max_depth": (4, 2)}, r"max_depth must be .* from low to high, got \(4, 2\): leave"),
        ({"max_depth": 2.5}, "max_depth must be a whole number .* got 2.5: leave"),
        ({"epsilon": -1.0}, "epsilon must be a number of at least 0.* got -1.0: leave"),
        ({"delta": 1.0}, "delta must be between 0 and 1, got 1.0: try 0.05"),
        ({"narrowing": 0}, "narrowing must be above 0, got 0: try 4"),
        ({"max_features": 1.5}, "max_features must be .*, got 1.5: try 0.8"),
        ({"max_features": 0}, "max_features must be .*, got 0: try 0.8"),
        ({"n_bins": 1}, "n_bins must be .* at least 2, got 1: give 2 or more"),
        ({"aggregation": "sum"}, "aggregation must be 'vote' or 'mean', got 'sum': 'vote' is"),
        ({"memory": 0}, "memory must be above 0 megabytes, got 0: try 256"),
        ({"edges": [[2.0, 1.0]]}, r"edges must be finite and .*\[2.0, 1.0\] for feature 0: sort"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message) as error:
        ContextualBanditForest(**{"n_actions": 3, **options})
    assert "\n" not in str(error.value)


def test_bad_input_is_refused():
    policy = ContextualBanditForest(2, edges=[[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"X must have shape \(rows, 2\), got \(1, 3\)"):
        policy.decide([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="features must be finite"):
        policy.decide([1.0, np.nan])
    with pytest.raises(ValueError, match="from 0 to 1, got 2"):
        policy.learn([1.0, 2.0], Decision(0, 0.5), 2.0)
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 1, got 5"):
        policy.learn([1.0, 2.0], Decision(5, 0.5), 1.0)
    constant = ContextualBanditForest(2, warm_up=2)
    constant.learn([1.0], Decision(0, 0.5), 1.0)
    with pytest.raises(ValueError, match=r"two values at least.*longer warm_up"):
        constant.learn([1.0], Decision(0, 0.5), 1.0)
