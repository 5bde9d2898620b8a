"""Optimisers against torch's own, to the last bit."""

import copy

import pytest
import torch

from dgtrees.learn import loop
from dgtrees.learn.losses import squared
from dgtrees.learn.recipe import Recipe


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
