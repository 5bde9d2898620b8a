"""Probabilistic trees with annealing: schedules, the soft-max over leaves, hardening."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification, make_friedman1
from sklearn.utils.estimator_checks import check_estimator

from dgtrees.paper.baselines.pat import PATClassifier, PATRegressor
from dgtrees.paper.baselines.soft_trees import AnnealedTree


def tree(schedule="log", start=1.0, stop=100.0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    options = {"start": start, "stop": stop, "schedule": schedule, "generator": generator}
    return AnnealedTree(4, 2, 3, **options).to(dtype)


@pytest.mark.parametrize(("schedule", "halfway"), [("log", 10.0), ("linear", 50.5)])
def test_schedules_run_from_start_to_stop(schedule, halfway):
    annealed = tree(schedule)
    seen = []
    for fraction in (0.0, 0.5, 1.0):
        annealed.set_progress(fraction)
        seen.append(float(annealed.scale))
    np.testing.assert_allclose(seen, [1.0, halfway, 100.0], rtol=1e-6)


def test_training_mixes_leaves_by_the_soft_max_of_path_products():
    annealed = tree()
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    right = torch.sigmoid(annealed.activations(x)).detach().numpy()
    products = np.ones((5, 8))
    for leaf in range(8):
        node = 0
        for bit in format(leaf, "03b"):
            products[:, leaf] *= right[:, node] if bit == "1" else 1.0 - right[:, node]
            node = 2 * node + 1 + int(bit)
    weighed = np.exp(products) / np.exp(products).sum(axis=1, keepdims=True)
    expected = weighed @ annealed.leaf_values.detach().numpy()
    np.testing.assert_allclose(annealed.train()(x).detach().numpy(), expected, atol=1e-6)


def test_gradients_agree_with_differences():
    annealed = tree(start=7.0, stop=7.0, dtype=torch.float64).train()
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *_: annealed(x), tuple(annealed.parameters()))


def test_in_evaluation_it_is_its_hard_tree():
    annealed = tree().eval()
    x = torch.randn(200, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        np.testing.assert_allclose(
            annealed(x).numpy(), annealed.harden().predict(x.numpy()), atol=1e-6
        )


def test_hardening_costs_something():
    X, y = make_friedman1(600, noise=0.5, random_state=0)
    options = {"scale_start": 10.0, "scale_stop": 100.0, "max_epochs": 25, "random_state": 0}
    model = PATRegressor(4, **options).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.soft_loss_ < model.hard_loss_
    assert model.score(X[400:], y[400:]) > 0.3
    again = PATRegressor(4, **options).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    np.testing.assert_array_equal(model.tree_.weights, again.tree_.weights)


def test_classes():
    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = PATClassifier(3, scale_start=10.0, schedule="linear", max_epochs=25, random_state=0)
    assert model.fit(X, labels).score(X, labels) > 0.8
    with pytest.raises(ValueError, match="schedule must be one of log, linear, got 'cosine'"):
        PATClassifier(schedule="cosine").fit(X, labels)


@pytest.mark.parametrize("kind", [PATClassifier, PATRegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        quick = kind(2, scale_start=10.0, learning_rate=0.05, max_epochs=8)
        results = check_estimator(quick, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40
