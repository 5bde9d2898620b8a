"""The torch loop: rates, penalties, noise, averages, callbacks, local gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dgtrees.errors import StateError
from dgtrees.learn.recipe import Recipe
from dgtrees.nn import loop
from dgtrees.nn.tensor_losses import squared
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.validation import evaluate
from nn_rows import descent, rows


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop", "sgd"])
def test_leaves_have_their_own_rate_and_wide_inputs_a_smaller_one(optimizer):
    recipe = Recipe(
        optimizer=optimizer,
        learning_rate=1e-2,
        leaf_learning_rate=1e-1,
        reference_features=32,
        weight_decay=0.1,
    )
    for d, rate in ((8, 1e-2), (128, 5e-3)):
        layer = loop.make_layer(d, 2, 3, "constant", recipe)
        made = loop.make_optimizer(layer, recipe)
        loop._set_rates(made, recipe, recipe.node_rate(1000, d), 0.0)
        leaves, nodes = made.param_groups
        assert leaves["params"] == [layer.leaf_values]
        assert (leaves["lr"], nodes["lr"]) == pytest.approx((1e-1, rate))
        assert (leaves["weight_decay"], nodes["weight_decay"]) == (0.0, 0.1)


def test_penalties_are_gradients_of_l1_and_l2():
    layer = loop.make_layer(3, 1, 2, "constant", Recipe())
    x = torch.randn(5, 3)
    results = []
    for l1, l2 in ((0.0, 0.0), (0.3, 0.2)):
        layer.zero_grad()
        layer(x).sum().backward()
        loop._add_penalty(layer, Recipe(l1=l1, l2=l2))
        results.append(layer.layers[0].weight.grad.clone())
    weight = layer.layers[0].weight.detach()
    torch.testing.assert_close(results[1] - results[0], 0.3 * weight.sign() + 0.4 * weight)


def test_penalties_may_be_on_biases_and_the_optimiser_has_the_recipes_epsilon():
    recipe = Recipe(
        n_layers=3,
        hidden=(5, 4),
        layer_biases=True,
        penalize_biases=True,
        l1=0.3,
        optimizer="rmsprop",
        epsilon=1e-5,
    )
    layer = loop.make_layer(3, 1, 2, "constant", recipe)
    assert loop.make_optimizer(layer, recipe).param_groups[0]["eps"] == 1e-5
    for linear in layer.linear_layers():
        torch.nn.init.normal_(linear.bias)
    before = []
    for penalty in (False, True):
        layer.zero_grad()
        layer(torch.ones(5, 3)).sum().backward()
        if penalty:
            loop._add_penalty(layer, recipe)
        before.append([linear.bias.grad.clone() for linear in layer.linear_layers()])
    for linear, plain, penalized in zip(layer.linear_layers(), *before, strict=True):
        torch.testing.assert_close(penalized - plain, 0.3 * linear.bias.detach().sign())


def test_a_uniform_start_has_the_papers_leaves():
    layer = loop.make_layer(3, 50, 6, "constant", Recipe(start="uniform"))
    largest = layer.leaf_values.detach().abs().max()
    assert 0.95 / 8 < largest <= 1 / 8


def test_l1_makes_weights_smaller():
    sizes = []
    for l1 in (0.0, 1e-2):
        run = descent(Recipe(quantizer="lsq", l1=l1, epochs=20, learning_rate=1e-2))
        run.fit(rows(), None)
        sizes.append(np.abs(run.tree().weights).sum())
    assert sizes[1] < 0.7 * sizes[0]


def test_relative_noise_grows_with_the_value():
    x = torch.tensor([0.0, 1.0, 30.0]).repeat(1000, 1)
    noisy = loop._add_noise(x, 0.1, 0.2, torch.Generator().manual_seed(0))
    expected = (0.1**2 + (0.2 * x[0]) ** 2).sqrt()
    torch.testing.assert_close((noisy - x).std(dim=0), expected, rtol=0.1, atol=0.0)


def test_gradients_turn_local_after_their_share_of_the_epochs():
    seen = []
    run = descent(Recipe(epochs=4, local_after=0.5))
    run.fit(rows(), None, callbacks=(lambda *_: seen.append(run.layer.local),))
    assert seen == [False, False, True, True]


def test_a_row_teaches_only_the_nodes_it_passes_once_gradients_are_local():
    layer = descent(Recipe(n_layers=1)).layer
    x = torch.from_numpy(rows().X[:1])
    passed, node = [], 0
    decisions = layer.activations(x)[0] >= 0
    while node < len(decisions):
        passed.append(node)
        node = 2 * node + (2 if decisions[node] else 1)
    for local in (False, True):
        layer.local = local
        layer.zero_grad()
        layer(x).sum().backward()
        taught = layer.linear_layers()[-1].bias.grad.nonzero().ravel().tolist()
        assert (taught == passed) is local


def test_annealing_goes_from_start_to_stop():
    seen = []
    run = descent(Recipe(quantizer="annealed", epochs=3, anneal_start=2.0, anneal_stop=8.0))
    run.fit(rows(), None, callbacks=(lambda *_: seen.append(run.layer.quantizer.steepness),))
    assert seen == pytest.approx([2.0, 4.0, 8.0])


def test_averaged_weights_are_what_is_delivered():
    recipe = Recipe(epochs=4, averaging=0.5, learning_rate=1e-2)
    plain, averaged = (descent(replace(recipe, averaging=a)) for a in (0.0, 0.5))
    plain.fit(rows(), None)
    averaged.fit(rows(), None)
    assert not np.array_equal(plain.tree().leaf_values, averaged.tree().leaf_values)
    # With validation rows the weights that were scored are the weights that are kept.
    checked = descent(recipe)
    result = checked.fit(rows(), rows(seed=1))
    score = evaluate(checked.layer, TensorRows.of(rows(seed=1)), False, squared)
    assert score["rmse"] == pytest.approx(result.best_score)
    assert result.best_score == min(result.history["val_rmse"])


def test_the_running_average_looks_back_over_a_share_of_the_steps():
    layer = descent(Recipe()).layer
    average, wanted = loop._running_average(layer, 0.5), None
    for step in range(1, 6):
        with torch.no_grad():
            layer.leaf_values.fill_(float(step))
        average.update_parameters(layer)
        share = 1 / (1 + 0.5 * step)
        wanted = step if wanted is None else wanted + share * (step - wanted)
    torch.testing.assert_close(
        average.module.leaf_values, torch.full_like(layer.leaf_values, wanted)
    )


def test_callbacks_and_patience_stop_training():
    run = descent(Recipe(epochs=50))
    result = run.fit(rows(), None, callbacks=(lambda epoch, n_epochs, metrics: epoch == 3,))
    assert result.n_epochs == 3 and result.stopped_early
    frozen = Recipe(epochs=50, learning_rate=1e-12, leaf_learning_rate=1.0, patience=2)
    result = descent(frozen).fit(rows(), rows(seed=1))
    assert result.stopped_early and result.n_epochs == result.best_epoch + 2


def test_a_loss_that_is_no_number_is_told():
    recipe = Recipe(
        epochs=2, loss=lambda prediction, y: (prediction - y).mean(dim=1) * float("nan")
    )
    with pytest.raises(StateError, match="the loss became nan in epoch 1: lower learning_rate"):
        descent(recipe).fit(rows(), None)
