"""Recipes, the training loop and what follows it."""

import copy
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from dgtrees.learn import loop, refine
from dgtrees.learn.losses import cross_entropy, squared
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.scaling import moments
from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples
from dgtrees.tree import ObliqueTree


def examples(rows=200, d=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    signal = X[:, 0] + np.abs(X[:, 1])
    y = (signal > 0.7).astype(int) if classes else signal[:, None]
    return Examples(X, y, np.ones(rows))


def trainer(rows, recipe, classes=0, leaf="constant", depth=3, seed=0):
    return Trainer(rows, max_depth=depth, leaf=leaf, recipe=recipe, n_classes=classes, seed=seed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": "adam"}, "optimizer must be one of adamw, rmsprop, sgd, got 'adam'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"l1": -1e-3}, "l1 must be a number of at least 0, got -0.001"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number above 0, got 'fast'"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number above 0, got nan"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1, got 2.5"),
        (
            {"quantizer": "tanh"},
            "quantizer must be one of sign, scaled_sign, lsq, annealed, margin",
        ),
        (
            {"label_smoothing": 1.0},
            "label_smoothing must be a number of at least 0 and below 1, got 1.0",
        ),
        ({"scaling": "robust"}, "scaling must be one of standard, absolute, got"),
    ],
)
def test_wrong_recipes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**change)


@pytest.mark.parametrize("restarts", [0, 3])
def test_the_cosine_starts_at_the_rate_and_ends_at_zero_in_every_cycle(restarts):
    recipe = Recipe(restarts=restarts)
    cycle = 1 / (restarts + 1)
    for start in range(restarts + 1):
        assert loop._schedule(recipe, start * cycle + 1e-9) == pytest.approx(1.0)
        assert loop._schedule(recipe, (start + 1) * cycle - 1e-9) == pytest.approx(0.0)
        assert loop._schedule(recipe, (start + 0.5) * cycle) == pytest.approx(0.5)
    assert loop._schedule(Recipe(schedule="constant"), 0.9) == 1.0


def test_leaves_have_their_own_rate_and_wide_inputs_a_smaller_one():
    recipe = Recipe(learning_rate=1e-2, leaf_learning_rate=1e-1, reference_features=32)
    rates = {}
    for d in (8, 128):
        module = loop.make_module(d, 2, 3, "constant", recipe)
        optimizer = loop.make_optimizer(module, recipe)
        loop._set_rates(optimizer, recipe, recipe.node_rate(1000, d), 0.0)
        rates[d] = [group["lr"] for group in optimizer.param_groups]
    assert rates[8] == pytest.approx([1e-2, 1e-1])
    assert rates[128] == pytest.approx([5e-3, 1e-1])


def test_wide_rows_bear_more_noise_and_many_rows_less_noise_and_a_smaller_rate():
    recipe = Recipe(
        learning_rate=1e-2, input_noise=0.1, reference_features=32, reference_rows=10_000
    )
    assert [recipe.noise(rows, 128) for rows in (10, 10_000, 40_000)] == [0.2, 0.2, 0.05]
    assert recipe.noise(10, 8) == 0.1
    assert recipe.node_rate(160_000, 8) == pytest.approx(5e-3)
    assert recipe.node_rate(10_000, 8) == 1e-2


def test_penalties_are_gradients_of_l1_and_l2():
    module = loop.make_module(3, 1, 2, "constant", Recipe())
    x = torch.randn(5, 3)
    results = []
    for l1, l2 in ((0.0, 0.0), (0.3, 0.2)):
        module.zero_grad()
        module(x).sum().backward()
        loop._add_penalty(module, Recipe(l1=l1, l2=l2))
        results.append(module.layers[0].weight.grad.clone())
    weight = module.layers[0].weight.detach()
    torch.testing.assert_close(results[1] - results[0], 0.3 * weight.sign() + 0.4 * weight)


def test_l1_makes_weights_smaller():
    rows = examples()
    sizes = []
    for l1 in (0.0, 1e-2):
        run = trainer(rows, Recipe(l1=l1, epochs=20, learning_rate=1e-2))
        run.fit(rows)
        sizes.append(np.abs(run.module.harden().weights).sum())
    assert sizes[1] < 0.7 * sizes[0]


def test_label_smoothing_is_torchs():
    prediction, target = torch.randn(6, 4), torch.randint(4, (6,))
    expected = torch.nn.functional.cross_entropy(
        prediction, target, label_smoothing=0.1, reduction="none"
    )
    torch.testing.assert_close(cross_entropy(prediction, target, 0.1), expected)


def test_averaged_weights_are_what_is_delivered():
    rows = examples()
    recipe = Recipe(epochs=4, averaging=0.5, learning_rate=1e-2)
    plain, averaged = (trainer(rows, replace(recipe, averaging=a)) for a in (0.0, 0.5))
    plain.fit(rows)
    averaged.fit(rows)
    assert not torch.equal(plain.module.leaf_values, averaged.module.leaf_values)
    # With validation rows the weights that were scored are the weights that are kept.
    checked = trainer(rows, recipe)
    result = checked.fit(rows, validation=rows)
    score = loop.evaluate(checked.module, checked._rows(rows), False, squared)
    assert score["rmse"] == pytest.approx(result.best_score)
    assert result.best_score == min(result.history["val_rmse"])


def test_gradients_turn_local_after_their_share_of_the_epochs():
    rows, seen = examples(), []
    run = trainer(rows, Recipe(epochs=4, local_after=0.5))
    run.fit(rows, callbacks=(lambda *_: seen.append(run.module.local),))
    assert seen == [False, False, True, True]


def test_a_row_teaches_only_the_nodes_it_passes_once_gradients_are_local():
    rows = examples()
    module = trainer(rows, Recipe(n_layers=1)).module
    x = torch.from_numpy(rows.X[:1]).float()
    passed, node = [], 0
    decisions = module.activations(x)[0] >= 0
    while node < len(decisions):
        passed.append(node)
        node = 2 * node + (2 if decisions[node] else 1)
    for local in (False, True):
        module.local = local
        module.zero_grad()
        module(x).sum().backward()
        taught = module.linear_layers()[-1].bias.grad.nonzero().ravel().tolist()
        assert (taught == passed) is local


def test_relative_noise_grows_with_the_value():
    pool = loop.NoisePool(torch.Generator().manual_seed(0), 4000)
    x = torch.tensor([0.0, 1.0, 30.0]).repeat(1000, 1)
    spread = (pool.add_to(x, 0.1, relative=0.2) - x).std(dim=0)
    expected = (0.1**2 + (0.2 * x[0]) ** 2).sqrt()
    torch.testing.assert_close(spread, expected, rtol=0.1, atol=0.0)
    assert not Recipe().noisy and Recipe(relative_noise=0.1).noisy


def test_callbacks_can_stop_training():
    rows = examples()
    run = trainer(rows, Recipe(epochs=50))
    result = run.fit(rows, callbacks=(lambda epoch, n_epochs, metrics: epoch == 3,))
    assert result.n_epochs == 3 and result.stopped_early


def test_scaling():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=5000), rng.normal(size=5000)], axis=1)
    values[0, 1] = 1000.0
    rows = Examples(values, values[:, :1], np.ones(5000))
    scales = {name: trainer(rows, Recipe(scaling=name)).scale for name in ("standard", "absolute")}
    assert scales["standard"][1] > 10
    assert scales["absolute"] == pytest.approx([1.0, 1.25], rel=0.05)


# After the gradient


def little_tree(outputs=1, linear=False):
    rng = np.random.default_rng(1)
    return ObliqueTree.complete(
        rng.normal(size=(3, 4)),
        rng.normal(size=3),
        rng.normal(size=(4, outputs)),
        np.zeros((4, outputs, 4)) if linear else None,
    )


def test_refitted_constant_leaves_are_weighted_means():
    rows = examples()
    weight = np.random.default_rng(2).integers(0, 3, size=200).astype(float)
    tree = little_tree()
    leaves = tree.apply(rows.X)
    refitted = refine.refit_leaves(tree, rows.X, rows.y, weight, 0.0, False)
    for leaf in np.unique(leaves):
        here = leaves == leaf
        mean = np.average(rows.y[here, 0], weights=weight[here])
        assert refitted.leaf_values[leaf, 0] == pytest.approx(mean)
    pulled = refine.refit_leaves(tree, rows.X, rows.y, weight, 1e9, False)
    np.testing.assert_allclose(pulled.leaf_values, tree.leaf_values, rtol=1e-5)


def test_refitted_classes_are_shares():
    rows = examples(classes=2)
    tree = little_tree(outputs=2)
    target = np.eye(2)[rows.y]
    refitted = refine.refit_leaves(tree, rows.X, target, rows.weight, 0.0, True)
    leaves = tree.apply(rows.X)
    for leaf in np.unique(leaves):
        share = rows.y[leaves == leaf].mean()
        assert np.exp(refitted.leaf_values[leaf, 1]) == pytest.approx(share, abs=1e-9)


def test_a_leaf_without_rows_keeps_its_value():
    tree = little_tree()
    X = np.zeros((5, 4))
    refitted = refine.refit_leaves(tree, X, np.ones((5, 1)), np.ones(5), 0.0, False)
    empty = np.setdiff1d(np.arange(4), tree.apply(X))
    assert np.array_equal(refitted.leaf_values[empty], tree.leaf_values[empty])


@pytest.mark.parametrize("linear", [False, True])
def test_an_exact_refit_never_raises_the_training_error(linear):
    rows = examples()
    run = trainer(
        rows,
        Recipe(epochs=3, refit_strength=None),
        leaf="linear" if linear else "constant",
    )
    run.fit(rows)
    before = np.square(run.hardened().predict(rows.X) - rows.y).mean()
    run.recipe = replace(run.recipe, refit_strength=0.0)
    tree, _ = run.finish(rows)
    assert np.square(tree.predict(rows.X) - rows.y).mean() <= before + 1e-12


def test_gains_are_the_errors_explained():
    rows = examples()
    tree = little_tree()
    leaves = tree.apply(rows.X)
    gains = refine.input_gains(tree, rows.X, rows.y, rows.weight)
    total = np.square(rows.y - rows.y.mean()).sum()
    within = sum(
        np.square(rows.y[leaves == leaf] - rows.y[leaves == leaf].mean()).sum()
        for leaf in np.unique(leaves)
    )
    assert gains.sum() == pytest.approx(total - within)
    assert (gains >= 0).all()


def test_leaves_reached_only_by_noise_are_kept():
    rows = examples(rows=40, classes=2)
    recipe = replace(RECIPES["default"]["classification"], epochs=5, input_noise=1.0)
    noisy = trainer(rows, recipe, classes=2, depth=6)
    noisy.fit(rows)
    kept = noisy.finish(rows)[0].n_leaves
    noisy.recipe = replace(recipe, input_noise=0.0)
    assert noisy.finish(rows)[0].n_leaves < kept


def test_rows_of_single_precision_are_scaled_without_a_warning():
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    center, scale = moments(values, np.ones(4))
    assert center.dtype == scale.dtype == np.float64
    np.testing.assert_array_equal(center, values.mean(axis=0))


@pytest.mark.parametrize("momentum", [0.0, 0.3])
@pytest.mark.parametrize("weight_decay", [0.0, 1e-3])
@pytest.mark.parametrize("name", ["adamw", "rmsprop", "sgd"])
def test_optimizers_do_what_those_of_torch_do_to_the_last_bit(name, weight_decay, momentum):
    recipe = Recipe(optimizer=name, momentum=momentum, weight_decay=weight_decay, n_layers=3)
    mine = loop.make_module(5, 2, 3, "linear", recipe, torch.Generator().manual_seed(0))
    other = copy.deepcopy(mine)
    groups = [
        {"params": params, "weight_decay": group["weight_decay"]}
        for params, group in zip(
            _nodes_and_leaves(other), loop.make_optimizer(other, recipe).param_groups, strict=True
        )
    ]
    if name == "adamw":
        torchs = torch.optim.AdamW(groups, fused=True)
    else:
        torchs = {"rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD}[name](
            groups, momentum=momentum
        )
    ours = loop.make_optimizer(mine, recipe)
    generator = torch.Generator().manual_seed(1)
    for step in range(12):
        x, y = (torch.randn(16, width, generator=generator) for width in (5, 2))
        for module, optimizer in ((mine, ours), (other, torchs)):
            for group, rate in zip(optimizer.param_groups, (0.01, 0.1), strict=True):
                group["lr"] = rate / (1 + step)
            optimizer.zero_grad()
            squared(module(x), y).mean().backward()
            optimizer.step()
        if step == 5:  # as after a checkpoint
            before, ours = ours, loop.make_optimizer(mine, recipe)
            ours.load_state_dict(copy.deepcopy(before.state_dict()))
    pairs = zip(mine.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def _nodes_and_leaves(module):
    leaves = module.leaf_parameters()
    return [p for p in module.parameters() if all(p is not leaf for leaf in leaves)], leaves


def test_a_fit_does_not_load_torchs_compiler():
    program = (
        "import sys, numpy as np, dgtrees\n"
        "X = np.arange(40.0).reshape(-1, 2)\n"
        "dgtrees.DGTRegressor(max_depth=2, max_epochs=1).fit(X, X[:, 0])\n"
        "assert 'torch' in sys.modules\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
