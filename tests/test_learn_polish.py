"""Alternating passes: the loss never rises, and a pass finds what a node can do better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees import DGTClassifier, DGTRegressor, ObliqueTree, Recipe
from dgtrees.learn.best_tree import Best
from dgtrees.learn.polish import LOSSES, Polish, polish, training_loss


def some_rows(rng, rows, loss, outputs):
    X = rng.normal(size=(rows, 3))
    X[:, 2] = rng.integers(0, 2, rows)  # ties
    if loss == "squared":
        target = np.sin(2 * X[:, :1]) + rng.normal(size=(rows, outputs))
    else:
        target = np.eye(outputs)[rng.integers(0, outputs, rows)]
    return X, target, rng.choice([0.5, 1.0, 3.0], rows)


def some_tree(rng, depth, outputs, linear):
    nodes, leaves = 2**depth - 1, 2**depth
    return ObliqueTree.complete(
        rng.normal(size=(nodes, 3)),
        rng.normal(size=nodes),
        rng.normal(size=(leaves, outputs)),
        rng.normal(size=(leaves, outputs, 3)) if linear else None,
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 80),
    depth=st.integers(0, 4),
    outputs=st.integers(1, 4),
    loss=st.sampled_from(LOSSES),
    linear=st.booleans(),
    penalty=st.sampled_from(["l1", "l2"]),
    alpha=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_the_training_loss_never_rises(seed, rows, depth, outputs, loss, linear, penalty, alpha):
    rng = np.random.default_rng(seed)
    X, target, weight = some_rows(rng, rows, loss, outputs)
    tree = some_tree(rng, depth, outputs, linear)
    losses = [training_loss(tree, X, target, weight, loss)]
    chosen = Polish(loss, alpha, penalty, leaf_strength=float(rng.choice([0.1, 10.0])))
    watch = lambda t: losses.append(training_loss(t, X, target, weight, loss))  # noqa: E731
    last = polish(tree, X, target, weight, chosen, 4, watch)
    assert np.all(np.diff(losses) <= 1e-9 * (1.0 + np.array(losses[:-1])))
    assert training_loss(last, X, target, weight, loss) == losses[-1]
    assert last.n_leaves <= tree.n_leaves


@pytest.mark.parametrize("loss", ["zero_one", "log"])
def test_one_pass_turns_a_wrong_split_the_right_way(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    target = np.eye(2)[(X.sum(axis=1) > 0.3).astype(int)]
    tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[1.0, 0.0], [0.0, 1.0]])
    tree = polish(tree, X, target, np.ones(300), Polish(loss, alpha=0.01), 5)
    assert np.mean(tree.predict(X).argmax(axis=1) == target.argmax(axis=1)) > 0.98


def test_means_and_lines_are_exact():
    X = np.linspace(-1, 1, 200)[:, None]
    y = np.where(X >= 0, 3.0 * X, -X)
    tree = ObliqueTree.complete([[1.0]], [0.0], [[0.0], [0.0]], np.zeros((2, 1, 1)))
    weight = np.ones(200)
    line = polish(tree, X, y, weight, Polish("squared", leaf_strength=1e-6), 3)
    np.testing.assert_allclose(line.predict(X), y, atol=1e-4)
    flat = polish(tree.with_leaves(tree.leaf_values), X, y, weight, Polish("squared"), 1)
    leaves = flat.apply(X)
    for leaf in range(2):
        np.testing.assert_allclose(flat.leaf_values[leaf], y[leaves == leaf].mean(), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 80),
    depth=st.integers(0, 4),
    loss=st.sampled_from(LOSSES),
    penalty=st.sampled_from(["l1", "l2"]),
    most=st.integers(1, 4),
)
def test_nodes_weigh_no_more_columns_than_they_may(seed, rows, depth, loss, penalty, most):
    rng = np.random.default_rng(seed)
    X, target, weight = some_rows(rng, rows, loss, 2)
    tree = some_tree(rng, depth, 2, linear=False)
    trees = []
    chosen = Polish(loss, penalty=penalty, max_columns=most)
    last = polish(tree, X, target, weight, chosen, 3, trees.append)
    for each in [*trees, last]:
        assert (np.count_nonzero(each.weights, axis=1) <= most).all()


def test_the_columns_that_matter_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9))
    target = np.eye(2)[(X[:, 3] + X[:, 7] > 0).astype(int)]
    tree = ObliqueTree.complete([np.ones(9)], [0.0], [[1.0, 0.0], [0.0, 1.0]])
    tree = polish(tree, X, target, np.ones(500), Polish("zero_one", max_columns=2), 3)
    assert np.flatnonzero(tree.weights[0]).tolist() == [3, 7]
    assert np.mean(tree.predict(X).argmax(axis=1) == target.argmax(axis=1)) > 0.97


def test_branches_without_rows_go():
    X = np.arange(4.0)[:, None] - 1.5
    tree = ObliqueTree.complete([[1.0]] * 3, [0.0, 5.0, 0.0], np.arange(4.0)[:, None])
    target = np.array([[0.0], [1.0], [5.0], [6.0]])
    assert polish(tree, X, target, np.ones(4), Polish("squared")).n_leaves < 4


def test_a_row_of_weight_two_is_two_rows():
    rng = np.random.default_rng(3)
    X, target, _ = some_rows(rng, 60, "squared", 1)
    tree = some_tree(rng, 3, 1, False)
    chosen = Polish("squared", max_iter=1000, tol=1e-8)
    once = polish(tree, X, target, np.full(60, 2.0), chosen, 2)
    twice = polish(
        tree, np.repeat(X, 2, axis=0), np.repeat(target, 2, axis=0), np.ones(120), chosen, 2
    )
    np.testing.assert_allclose(once.predict(X), twice.predict(X), rtol=1e-6)


def test_best_keeps_the_last_of_equals():
    a, b, c = (some_tree(np.random.default_rng(i), 1, 1, False) for i in range(3))
    scores = {id(a): 1.0, id(b): 1.0, id(c): 0.5}
    best = Best(lambda t: scores[id(t)], a)
    assert best(b) == 1.0 and best(c) == 0.5 and best.tree is b
    last = Best(None, a)
    last(c)
    assert last.tree is c


@pytest.mark.parametrize(("kind", "leaf"), [(DGTClassifier, "constant"), (DGTRegressor, "linear")])
def test_refine_polish_keeps_what_does_not_lose_on_validation_rows(kind, leaf):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400)
    y = (y > 0).astype(int) if kind is DGTClassifier else y
    quick = Recipe(epochs=3)
    parts = {"X_val": X[300:], "y_val": y[300:]}
    before = kind(3, leaf=leaf, recipe=quick, random_state=0)
    after = kind(3, leaf=leaf, recipe=quick, random_state=0, refine="polish")
    one, other = (model.fit(X[:300], y[:300], **parts) for model in (before, after))
    assert other.score(X[300:], y[300:]) >= one.score(X[300:], y[300:]) - 1e-9
    alone = kind(3, leaf=leaf, recipe=quick, random_state=0, validation_fraction=None)
    raw = alone.fit(X, y).score(X, y)
    assert alone.set_params(refine="polish").fit(X, y).score(X, y) > raw


@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_an_estimator_weighs_few_columns_and_is_better_than_one(kind):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 8))
    y = X[:, 0] + X[:, 1] + 0.5 * X[:, 2]
    y = (y > 0).astype(int) if kind is DGTClassifier else y
    quick = {"recipe": Recipe(epochs=5), "random_state": 0}
    scores = []
    for most in (1, 3):
        model = kind(3, max_columns=most, **quick).fit(X[:400], y[:400])
        assert np.count_nonzero(model.tree_.weights, axis=1).max() == most
        scores.append(model.score(X[400:], y[400:]))
    assert scores[1] > scores[0] + 0.05
    with pytest.raises(ValueError, match="max_columns=3 needs all rows at once"):
        model.partial_fit(X, y)


def test_max_columns_needs_a_loss_that_passes_know():
    with pytest.raises(ValueError, match="max_columns=2 is for squared error and cross-entropy"):
        Recipe(loss="huber", max_columns=2)
    with pytest.raises(ValueError, match="max_columns must be a whole number of at least 1, got 0"):
        DGTClassifier(max_columns=0).fit([[0.0], [1.0]], [0, 1])


def test_refine_says_what_it_knows():
    X, y = np.arange(8.0)[:, None], [0, 1] * 4
    with pytest.raises(ValueError, match="refine must be 'polish' or None, got 'buff'"):
        DGTClassifier(refine="buff").fit(X, y)
    with pytest.raises(ValueError, match="polish must be a whole number of at least 0, got -1"):
        Recipe(polish=-1)
