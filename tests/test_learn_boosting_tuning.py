"""Trees of a sum, tuned together: the gradient against a slow one, and what is kept."""

import numpy as np
import pytest

from dgtrees.learn.boosted_sum import BoostedSum, deal_folds
from dgtrees.learn.boosting import Booster
from dgtrees.learn.boosting_losses import CrossEntropy, Huber, Logistic, Poisson, Quantile, Squared
from dgtrees.learn.boosting_rows import prepare_rows
from dgtrees.learn.boosting_settings import BoostingSettings
from dgtrees.learn.boosting_tuning import TuningSettings, tuned_sum
from dgtrees.learn.flat_sum import FlatSum
from dgtrees.learn.leaf_sum import LeafSum
from dgtrees.tree.gradient import LOCAL, gradient_of_decisions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0]
BENDS = np.sin(2 * X[:, :1]) + np.abs(0.1 * X[:, 1:2] + X[:, 3:])
WEIGHT = RNG.uniform(0.5, 2.0, size=400)


def made(y=BENDS, loss=None, sums=2, **given):
    """Sums that have grown, each with a fold of its own held out."""
    everything = np.arange(len(X))
    rows = prepare_rows(
        X, y.copy(), WEIGHT.copy(), everything, loss or Squared(), np.zeros(4, np.int8)
    )
    fold = deal_folds(y, sums, False, seed=0)
    settings = BoostingSettings(patience=5, max_leaves=6, **given)
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(sums)]
    boosters = [Booster(rows, *part, settings, None, k) for k, part in enumerate(parts)]
    return BoostedSum(rows, boosters, settings, {}).run(40)


def standardised(whole, trees, window=0.5):
    """Trees as one vector."""
    rows = whole.rows
    start, scaling = np.zeros((len(X), rows.y.shape[1])), (rows.center, rows.scale)
    return FlatSum(trees, rows.unclipped(slice(None)), start, *scaling, window)


def flat(whole):
    """Three trees of the first sum as one vector, and as they were."""
    booster = whole.boosters[0]
    eye = np.eye(whole.rows.y.shape[1])
    trees = [tree.finished(eye) for tree in booster.trees[:3]]
    return standardised(whole, trees), trees


def several(outputs):
    return np.hstack([BENDS * (k + 1) - k * X[:, :1] for k in range(outputs)])


SHAPES = pytest.mark.parametrize(
    ("outputs", "leaf"), [(1, "constant"), (3, "constant"), (1, "linear"), (2, "mixed")]
)


@SHAPES
def test_trees_come_back_from_the_vector_as_they_were(outputs, leaf):
    whole = made(several(outputs), leaf=leaf)
    sums, trees = flat(whole)
    for tree, again in zip(trees, sums.trees(), strict=True):
        assert np.allclose(tree.weights, again.weights, rtol=1e-12, atol=0.0)
        assert np.allclose(tree.bias, again.bias, rtol=1e-9, atol=1e-12)
        assert np.allclose(tree.predict(X), again.predict(X), atol=1e-10)
        alone = np.count_nonzero(tree.weights, axis=1) == 1
        assert np.array_equal(tree.weights[alone], again.weights[alone])
    every = np.arange(400)
    scores = sums.scores(every)
    assert np.allclose(scores, sum(tree.predict(X) for tree in trees), atol=1e-10)
    for tree, own in zip(trees, sums.reached(every), strict=True):
        assert np.array_equal(own, tree.apply(X))


def answer(tree, x, node, soft=None):
    """What a tree says of a row from a node on, and the nodes passed.

    One node may be soft: which node, and how far from 0 its value must be to be sure.
    """
    passed = []
    while node >= 0:
        passed.append(node)
        value = tree.weights[node] @ x + tree.bias[node]
        if soft is not None and node == soft[0]:
            share = np.clip(0.5 + value / (2.0 * soft[1]), 0.0, 1.0)
            low, high = (answer(tree, x, child)[0] for child in (tree.left[node], tree.right[node]))
            return share * high + (1.0 - share) * low, passed
        node = tree.right[node] if value >= 0 else tree.left[node]
    slopes = 0.0 if tree.leaf_weights is None else tree.leaf_weights[~node] @ x
    return tree.leaf_values[~node] + slopes, passed


def weighed(trees, Z, slopes, lengths=None, window=0.0):
    """Scores of rows times slopes, plus what they would be more with each node soft by itself."""
    total = 0.0
    for number, tree in enumerate(trees):
        for x, slope in zip(Z, slopes, strict=True):
            hard, passed = answer(tree, x, 0 if len(tree.left) else ~0)
            total += slope @ hard
            for node in passed if lengths is not None else []:
                soft = answer(tree, x, 0, (node, window * lengths[number][node]))[0]
                total += slope @ (soft - hard)
    return total


@SHAPES
def test_values_of_leaves_alone_have_the_same_gradient(outputs, leaf):
    whole = made(several(outputs), leaf=leaf)
    sums, trees = flat(whole)
    alone, rows = LeafSum(trees, X, np.zeros((400, outputs))), np.arange(0, 400, 3)
    assert np.allclose(alone.scores(rows), sums.scores(rows), atol=1e-10)
    assert np.array_equal(alone.reached(rows), sums.reached(rows))
    slopes = np.random.default_rng(1).normal(size=(len(rows), outputs))
    found, one = (each.gradient(rows, lambda scores: slopes) for each in (alone, sums))
    assert np.allclose(found, one[sums.parts[3][0]], atol=1e-12)
    alone.parameters += 1.0
    for tree, again in zip(trees, alone.trees(), strict=True):
        assert np.allclose(again.predict(X), tree.predict(X) + 1.0)


@SHAPES
def test_the_gradient_is_that_of_boundaries_that_are_soft_one_by_one(outputs, leaf):
    whole = made(several(outputs), leaf=leaf)
    grown = [
        tree.finished(np.eye(outputs)).on_unscaled_inputs(
            -whole.rows.center / whole.rows.scale, 1.0 / whole.rows.scale
        )
        for tree in whole.boosters[0].trees[:3]
    ]
    lengths = [np.linalg.norm(tree.weights, axis=1) for tree in grown]
    rows, window = np.arange(0, 400, 25), 0.7
    Z, start = whole.rows.unclipped(rows), np.zeros((len(rows), outputs))
    sums = FlatSum(grown, Z, start, np.zeros(4), np.ones(4), window)
    slopes = np.random.default_rng(1).normal(size=(len(rows), outputs))
    fast = sums.gradient(np.arange(len(rows)), lambda scores: slopes)
    of_nodes = np.zeros(len(fast), dtype=bool)
    for part, of_leaves in sums.parts:
        of_nodes[part] = not of_leaves
    slow, size = np.empty(len(fast)), 1e-6
    for j in range(len(fast)):
        how = (lengths, window) if of_nodes[j] else ()
        ends = []
        for step in (size, -size):
            sums.parameters[j] += step
            ends.append(weighed(sums.trees(), Z, slopes, *how))
            sums.parameters[j] -= step
        slow[j] = (ends[0] - ends[1]) / (2.0 * size)
    assert np.allclose(fast, slow, atol=1e-5)
    assert fast[of_nodes].any() and fast[~of_nodes].any()


def test_the_gradient_of_a_node_is_the_local_one_of_single_trees():
    whole = made(several(2), leaf="linear")
    tree = whole.boosters[0].trees[0].finished(np.eye(2))
    sums, slopes = standardised(whole, [tree]), np.random.default_rng(1).normal(size=(400, 2))
    fast = sums.gradient(np.arange(400), lambda scores: slopes)[sums.parts[2][0]]
    values = tree.leaf_values + np.einsum("lkd,nd->nlk", tree.leaf_weights, X)
    scores = np.einsum("nlk,nk->nl", values, slopes)
    lengths = np.linalg.norm(tree.weights * whole.rows.scale, axis=1)
    decisions = (X @ tree.weights.T + tree.bias) / lengths
    local = gradient_of_decisions(decisions, scores, tree.left, tree.right, LOCAL, tree.depth)
    near = np.abs(decisions) <= 0.5
    assert np.allclose(fast, (local * near).sum(axis=0) / 0.5, rtol=1e-4, atol=1e-4)
    assert fast.any()


NODES = pytest.mark.parametrize("nodes", [False, True])
CLASSES = (X[:, 0] > 0).astype(int) + (X[:, 3] > 0)
COUNTS = RNG.poisson(np.exp(0.5 * BENDS)).astype(float)


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (Squared(), BENDS),
        (Huber(), several(2)),
        (Quantile(0.8), BENDS),
        (Poisson(), COUNTS),
        (Logistic(), (CLASSES[:, None] > 1) * 1.0),
        (CrossEntropy(), np.eye(3)[CLASSES]),
    ],
)
@NODES
def test_held_out_rows_are_never_worse_for_it(loss, y, nodes):
    whole = made(y, loss)
    before = [(booster.trees, booster.scores.copy()) for booster in whole.boosters]
    tuned = tuned_sum(whole, TuningSettings(nodes), 0)
    assert tuned is whole or tuned.held_loss() < whole.held_loss()
    assert tuned is whole or tuned.tried["tuned"] == pytest.approx(tuned.held_loss())
    for booster, (trees, scores) in zip(whole.boosters, before, strict=True):
        assert booster.trees is trees and np.array_equal(booster.scores, scores)
    worse = tuned_sum(whole, TuningSettings(nodes, leaf_rate=30.0, epochs=2), 0)
    assert worse is whole


@NODES
def test_a_tuned_sum_is_its_trees(nodes):
    whole = made(several(2), leaf="mixed")
    tuned = tuned_sum(whole, TuningSettings(nodes), 0)
    assert tuned is not whole and tuned.stages() == whole.stages()
    eye, scores = np.eye(2), np.empty((2, 400, 2))
    sums = tuned.base(eye, np.zeros(2)).predict(X)
    sums += np.sum([tree.predict(X) for tree in tuned.trees(eye)], axis=0)
    for own, booster in zip(scores, tuned.boosters, strict=True):
        own[np.r_[booster.train, booster.held]] = booster.scores
    assert np.allclose(sums, scores.mean(axis=0), atol=1e-9)
    for tree, mass in zip(tuned.trees(eye), tuned.leaf_rows(), strict=True):
        assert np.allclose(mass, np.bincount(tree.apply(X), WEIGHT, tree.n_leaves))
    assert np.array_equal(tuned.importance(), whole.importance())


@NODES
def test_the_same_bits_from_any_number_of_threads(nodes):
    whole, how = made(sums=4), TuningSettings(nodes)
    one, four = (tuned_sum(whole, how, 0, n_threads=n) for n in (1, 4))
    other = tuned_sum(whole, how, 1)
    for a, b, c in zip(one.boosters, four.boosters, other.boosters, strict=True):
        assert np.array_equal(a.scores, b.scores) and not np.array_equal(a.scores, c.scores)


@NODES
def test_rows_of_weight_0_count_for_nothing(nodes):
    whole = made()
    one = BoostedSum(whole.rows, whole.boosters[:1], whole.settings, {})
    unheard = one.boosters[0].train[::3]
    whole.rows.weight[unheard] = 0.0
    found = []
    for shift in (0.0, 9.0):
        whole.rows.y[unheard] += shift
        tuned = tuned_sum(one, TuningSettings(nodes), 0)
        assert tuned is not one
        found.append(tuned.boosters[0].scores)
    assert np.array_equal(*found)


def test_a_sum_without_trees_stays_as_it_is():
    noise = np.random.default_rng(0).normal(size=(400, 1))
    whole = made(noise)
    for booster in whole.boosters:
        booster.kept = 0
    assert tuned_sum(whole, TuningSettings(), 0) is whole
