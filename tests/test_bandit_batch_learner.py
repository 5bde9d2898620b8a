"""BatchLearner: running scale, batches, and what it packs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.bandit.batch_learner import BatchLearner
from dgtrees.learn.recipe import RECIPES

RECIPE = replace(RECIPES["paper"]["regression"], batch_size=16, steps=200)
X = np.random.default_rng(0).normal(size=(400, 3)) * [1, 100, 1] + [0, 1e4, 0]


def _learner(**changes):
    return BatchLearner(3, 3, "constant", replace(RECIPE, **changes), seed=5)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_however_answers_come_full_batches_are_learnt(sizes):
    one, other, at = _learner(), _learner(), 0
    for size in sizes:
        one.learn(X[at : at + size], np.sin(X[at : at + size, 0]))
        at += size
    for row in range(at):
        other.learn(X[row : row + 1], np.sin(X[row : row + 1, 0]))
    assert one.descent.steps == at // 16 and one.n_answers == at and one.waiting == at % 16
    np.testing.assert_array_equal(one.tree.weights, other.tree.weights)


def test_columns_are_scaled_by_all_full_batches():
    learner = _learner()
    learner.learn(X[:330], np.zeros(330))
    np.testing.assert_allclose(learner.mean, X[:320].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(learner._scale(), X[:320].std(axis=0), rtol=1e-9)


def test_a_column_that_never_varies_is_left_alone():
    rows = X.copy()
    rows[:, 2] = 7.25
    learner = _learner()
    learner.learn(rows[:64], np.ones(64))
    assert learner._scale()[2] == 1.0
    assert np.isfinite(learner.answer(rows)[1]).all()


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_it_learns_a_step_from_slopes_alone(leaf):
    learner = BatchLearner(3, 2, leaf, replace(RECIPE, steps=400), seed=0)
    wanted = np.where(X[:, 1] > 1e4, 0.5, -0.5)
    for i in range(400):
        rows = np.random.default_rng(i).integers(400, size=16)
        learner.learn(X[rows], 2 * (learner.answer(X[rows])[1] - wanted[rows]))
    assert np.abs(learner.answer(X)[1] - wanted).mean() < 0.2  # 0.5 knowing nothing
    np.testing.assert_allclose(learner.tree.predict(X)[:, 0], learner.answer(X)[1])


def test_steps_are_within_bounds_and_of_both_signs():
    learner = _learner(leaf_learning_rate=1.0)
    learner.learn(X[:160], np.full(160, -5.0))
    centre, step, leaves = learner.perturb(X, 1, 0.3)
    assert (np.abs(centre) + np.abs(step) <= 1.0 + 1e-12).all()
    assert 0.4 < (step > 0).mean() < 0.6
    again = learner.perturb(X[7:8], 8, 0.3)
    assert [found[0] for found in again] == [centre[7], step[7], leaves[7]]


def test_packed_arrays_go_on_the_same_way():
    one, other = _learner(), _learner()
    one.learn(X[:100], np.sin(X[:100, 0]))
    other.restore(one.pack())
    for learner in (one, other):
        learner.learn(X[100:200], np.sin(X[100:200, 0]))
    np.testing.assert_array_equal(one.tree.weights, other.tree.weights)
    np.testing.assert_array_equal(one.slopes[: one.waiting], other.slopes[: one.waiting])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": np.zeros(2)}, "mean must be finite, of shape"),
        ({"rows": np.zeros((3, 3))}, "rows must be"),
        ({"slopes": np.full(4, np.inf)}, "slopes must be finite"),
        ({"squares": np.array([1.0, -1.0, 0.0])}, "must not be negative"),
        ({"seen": np.array([-1], np.int64).view(np.int32)}, "must be finite, of shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    learner = _learner()
    learner.learn(X[:100], np.ones(100))
    with pytest.raises(ValueError, match=message):
        _learner().restore(learner.pack() | change)
