"""The training loop: rates, penalties, callbacks, local gradients."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from dgtrees.learn import loop
from dgtrees.learn.recipe import Recipe
from training_rows import examples, trainer


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


def test_callbacks_can_stop_training():
    rows = examples()
    run = trainer(rows, Recipe(epochs=50))
    result = run.fit(rows, callbacks=(lambda epoch, n_epochs, metrics: epoch == 3,))
    assert result.n_epochs == 3 and result.stopped_early


def test_a_fit_does_not_load_torchs_compiler():
    program = (
        "import sys, numpy as np, dgtrees\n"
        "X = np.arange(40.0).reshape(-1, 2)\n"
        "dgtrees.DGTRegressor(max_depth=2, max_epochs=1).fit(X, X[:, 0])\n"
        "assert 'torch' in sys.modules\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
