"""Linear models of losses: against least squares by hand, and across folds."""

import numpy as np
import pytest

from dgtrees.bandit.logs import Log
from dgtrees.bandit.loss_model import fit_models, predict_across_folds


def a_log(rows=200, n_actions=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)) * [1.0, 100.0] + [0.0, 5.0]
    actions = rng.integers(0, 2, size=rows)
    losses = np.where(actions == 0, 1 + 2 * X[:, 0], 3 - 0.01 * X[:, 1])
    return Log(X, actions, np.full(rows, 0.5), losses, n_actions=n_actions)


def test_a_linear_loss_is_found_again_whatever_the_units():
    log = a_log()
    models = fit_models(log, ridge=1e-9)
    design = models[0].design(log.X)
    np.testing.assert_allclose(design @ models[0].coefficients, 1 + 2 * log.X[:, 0], atol=1e-6)
    np.testing.assert_allclose(design @ models[1].coefficients, 3 - 0.01 * log.X[:, 1], atol=1e-6)


def test_an_action_without_rows_costs_the_mean():
    log = a_log()
    model = fit_models(log, ridge=1.0)[2]
    np.testing.assert_allclose(model.design(log.X) @ model.coefficients, log.losses.mean())
    np.testing.assert_allclose(
        predict_across_folds(log, 1.0, 5, 0)[:, 2].mean(), log.losses.mean(), rtol=0.05
    )


def test_pull_is_how_far_a_single_loss_moves_the_mean_prediction():
    log = a_log(rows=40)
    model = fit_models(log, ridge=1.0)[0]
    design = model.design(log.X)
    rows, mean = np.flatnonzero(log.actions == 0), design.mean(axis=0)
    moved = log.losses.copy()
    moved[rows[3]] += 1.0
    other = fit_models(Log(log.X, log.actions, log.probabilities, moved, 3), ridge=1.0)[0]
    change = mean @ (other.coefficients - model.coefficients)
    assert model.pull(mean, design[rows])[3] == pytest.approx(change)


def test_left_out_is_the_miss_of_a_model_of_the_other_rows():
    log = a_log(rows=30)
    model = fit_models(log, ridge=1.0)[0]
    rows = np.flatnonzero(log.actions == 0)
    missed = model.left_out(model.design(log.X)[rows], log.losses[rows])
    design = model.design(log.X)  # the same scales for both
    others = rows[1:]
    penalty = np.diag([1.0, 1.0, 0.0])
    gram = design[others].T @ design[others] + penalty
    alone = np.linalg.solve(gram, design[others].T @ log.losses[others])
    assert missed[0] == pytest.approx(log.losses[rows[0]] - design[rows[0]] @ alone)


def test_doubt_falls_with_the_rows():
    few, many = (fit_models(a_log(rows), ridge=1.0)[0] for rows in (20, 400))
    mean = np.array([1.0, 1.0, 1.0])
    assert few.doubt(mean, 1.0) > many.doubt(mean, 1.0) > 0


def test_no_fold_is_predicted_by_itself():
    log = a_log(rows=60)
    wild = log.losses.copy()
    wild[7] = 1e6
    other = Log(log.X, log.actions, log.probabilities, wild, 3)
    before, after = (predict_across_folds(each, 1.0, 60, 0) for each in (log, other))
    np.testing.assert_allclose(after[7], before[7])  # a fold of its own, whose loss is not learnt
    assert not np.allclose(after[8], before[8])
