"""What is minimised, and what validation says of a tree."""

import numpy as np
import pytest

import reference
from dgtrees.learn.losses import LOSS_NAMES, gradient_of_rows, loss_of_rows
from dgtrees.learn.objective import HardTree, Objective, mean, rank_of
from dgtrees.learn.recipe import Recipe
from dgtrees.tree import ObliqueTree
from training_rows import plain_rows, squared_loss


@pytest.mark.parametrize(("classification", "name"), [(True, "cross_entropy"), (False, "squared")])
def test_every_task_has_a_loss(classification, name):
    assert Objective(Recipe(), classification).name == name


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_a_loss_by_name(name):
    classification = name == "cross_entropy"
    objective = Objective(Recipe(loss=name, label_smoothing=0.1), classification)
    rows = plain_rows(9, classification=classification)
    outputs = np.random.default_rng(1).normal(size=(9, 2))
    losses, gradient = objective.gradient(outputs, rows.y)
    assert np.array_equal(losses, loss_of_rows(name, outputs, rows.y, 0.1))
    assert np.array_equal(losses, objective.losses(outputs, rows.y))
    assert np.array_equal(gradient, gradient_of_rows(name, outputs, rows.y, 0.1))


def test_a_loss_of_ones_own_has_no_name_and_gets_float32():
    seen = []

    def loss(prediction, target):
        seen.append(prediction.dtype)
        prediction += 1.0  # on a copy
        return squared_loss(prediction, target)

    objective = Objective(Recipe(loss=loss), False)
    assert objective.name is None
    outputs = np.zeros((9, 2), np.float32)
    objective.gradient(outputs, plain_rows(9).y)
    objective.losses(outputs.astype(float), plain_rows(9).y)
    assert set(seen) == {np.dtype(np.float32)}
    assert (outputs == 0).all()


def test_a_loss_that_changes_what_it_is_given_gets_it_unchanged_every_time():
    def loss(prediction, target):
        prediction -= target
        return np.square(prediction).mean(axis=1), prediction

    rows = plain_rows(9)
    outputs = np.zeros((9, 2), np.float32)
    objective = Objective(Recipe(loss=loss), False)
    for _ in range(2):
        losses, _ = objective.gradient(outputs, rows.y)
        np.testing.assert_allclose(losses, np.square(rows.y).mean(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "classification", "message"),
    [
        ("hinge", True, "loss must be a callable or one of .*, got 'hinge'"),
        ("squared", True, "loss 'squared' is not for classification: choose another"),
        ("cross_entropy", False, "loss 'cross_entropy' is not for regression: choose another"),
    ],
)
def test_other_names_are_refused(name, classification, message):
    with pytest.raises(ValueError, match=message):
        Objective(Recipe(loss=name), classification)


def test_means():
    losses, weight = np.array([1.0, 2.0, 6.0]), np.array([0.5, 2.0, 0.5])
    assert mean(losses, None) == 3.0
    assert mean(losses, weight) == pytest.approx(7.5 / 3)
    assert mean(np.float32(1.5), None) == 1.5
    with pytest.raises(ValueError, match="must return one number per row where rows have weights"):
        mean(np.float32(1.5), weight)


@pytest.mark.parametrize("classification", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("nodes", [0, 12])
def test_scores_are_those_of_the_tree(classification, weighted, linear, nodes):
    rng = np.random.default_rng(0)
    rows = plain_rows(80, 4, 2, classification, weighted)
    left, right, _ = reference.random_topology(nodes, rng)
    table = rng.normal(size=(nodes, 5)).astype(np.float32)
    values = rng.normal(size=(nodes + 1, 2))
    slopes = rng.normal(size=(nodes + 1, 2, 4)) if linear else None
    objective = Objective(Recipe(label_smoothing=0.1), classification)
    found = HardTree(table, left, right, values, slopes).scores(rows, objective)
    weights = table.astype(float)
    tree = ObliqueTree(weights[:, :-1], weights[:, -1], left, right, values, slopes)
    outputs = tree.predict(rows.X.astype(float))
    weight = np.ones(80) if rows.weight is None else rows.weight
    losses = loss_of_rows(objective.name, outputs, rows.y, 0.1)
    assert found["loss"] == pytest.approx((weight * losses).sum() / 80)
    if classification:
        right_ones = outputs.argmax(axis=1) == rows.y
        assert found["accuracy"] == pytest.approx((weight * right_ones).sum() / 80)
    else:
        errors = np.square(outputs - rows.y).mean(axis=1)
        assert found["rmse"] == pytest.approx(np.sqrt((weight * errors).sum() / 80))
    assert set(found) == {"loss", "accuracy" if classification else "rmse"}


def test_the_best_is_best_in_accuracy_then_loss_in_rmse_or_in_a_loss_of_its_own():
    metrics = {"val_loss": 0.5, "val_accuracy": 0.9, "val_rmse": 2.0}
    assert rank_of(metrics, Recipe(), True) == (0.9, -0.5)
    assert rank_of(metrics, Recipe(), False) == (-2.0,)
    assert rank_of(metrics, Recipe(loss="squared"), False) == (-2.0,)
    for loss in ("huber", "absolute", squared_loss):
        assert rank_of(metrics, Recipe(loss=loss), False) == (-0.5,)
