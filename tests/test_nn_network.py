"""Networks that contain trees: groups of the optimiser, the schedule, and what is refused."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from dgtrees.errors import StateError
from dgtrees.nn import TrainableTree, fit_network, parameter_groups, set_progress
from dgtrees.nn.torch_threads import one_torch_thread

cross_entropy = nn.functional.cross_entropy


@pytest.fixture(autouse=True)
def one_thread():
    """On a busy machine, two threads wait for each other at every small step."""
    with one_torch_thread():
        yield


def network(seed=0, leaf="constant"):
    torch.manual_seed(seed)
    tree = TrainableTree(4, 2, 3, leaf=leaf)
    return nn.Sequential(nn.Linear(9, 4), nn.BatchNorm1d(4), tree)


def batches(count=400, size=100, seed=0):
    random = torch.Generator().manual_seed(seed)
    X = torch.randn(count, 9, generator=random)
    y = (X[:, 0] * X[:, 1] > 0).long()
    return list(zip(X.split(size), y.split(size), strict=True))


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_every_parameter_is_in_one_group_and_constants_of_leaves_have_their_own(leaf):
    net = network(leaf=leaf)
    others, leaves = parameter_groups(net, 0.1, 0.2)
    assert leaves["params"] == [net[2].leaf_values] and leaves["lr"] == 0.2
    assert leaves["weight_decay"] == 0.0 and others["lr"] == 0.1
    found = [id(p) for group in (others, leaves) for p in group["params"]]
    assert sorted(found) == sorted(id(p) for p in net.parameters())


def test_frozen_parameters_are_left_out_and_stay():
    net = network()
    net[0].requires_grad_(False)
    assert all(p.requires_grad for group in parameter_groups(net) for p in group["params"])
    before = net[0].weight.clone()
    fit_network(net, batches(), cross_entropy, epochs=1)
    assert torch.equal(net[0].weight, before)


def test_progress_reaches_every_tree():
    trees = [TrainableTree(3, 1, 2) for _ in range(2)]
    set_progress(nn.ModuleList(trees), 1.0)
    assert [tree.quantizer.steepness for tree in trees] == pytest.approx([9.0, 9.0])


def test_it_is_the_plain_loop():
    """The reference: torch's own AdamW and schedule, written out."""
    fast, slow = network(1), network(1)
    rows = batches()
    losses = fit_network(fast, rows, cross_entropy, epochs=3)
    slow.train()
    optimizer = torch.optim.AdamW(parameter_groups(slow))
    steps = 3 * len(rows)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 0.5 + 0.5 * math.cos(math.pi * step / steps)
    )
    wanted = []
    for step in range(steps):
        slow[2].set_progress(step / steps)
        X, y = rows[step % len(rows)]
        loss = cross_entropy(slow(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        wanted.append(loss.item())
    np.testing.assert_allclose(losses, np.reshape(wanted, (3, -1)).mean(axis=1), rtol=1e-5)
    for one, other in zip(fast.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert not fast.training


def test_a_loss_may_take_the_whole_batch_and_several_targets():
    seen = []

    def loss(output, target, extra):
        seen.append((output.shape, target.shape, extra.shape))
        return (output[:, 0] - target).square().mean() + extra.mean() * 0.0

    rows = [(X, y.float(), torch.ones(3)) for X, y in batches(30, 10)]
    fit_network(network(), rows, loss, epochs=2)
    assert seen == [((10, 2), (10,), (3,))] * 6


def test_callbacks_see_the_loss_and_stop():
    told = []

    def stop(epoch, epochs, metrics):
        told.append((epoch, epochs, metrics["loss"]))
        return epoch == 2

    losses = fit_network(network(), batches(), cross_entropy, epochs=9, callbacks=[stop])
    assert told == [(1, 9, losses[0]), (2, 9, losses[1])]


def test_batches_without_a_length_move_the_schedule_once_an_epoch():
    class Fresh:
        def __iter__(self):
            return iter(batches())

    net = network()
    fit_network(net, Fresh(), cross_entropy, epochs=3)
    wanted = 3.0 * 3.0 ** (2 / 3)  # two of three epochs done
    assert net[2].quantizer.steepness == pytest.approx(wanted)


def test_what_cannot_be_trained_is_refused():
    rows = batches()
    with pytest.raises(ValueError, match="must contain a TrainableTree, got Linear without one"):
        fit_network(nn.Linear(9, 2), rows, cross_entropy, epochs=1)
    with pytest.raises(ValueError, match="epochs must be at least 1, got 0"):
        fit_network(network(), rows, cross_entropy, epochs=0)
    with pytest.raises(ValueError, match="got none in epoch 2: give a list or a DataLoader"):
        fit_network(network(), iter(rows), cross_entropy, epochs=2)
    with pytest.raises(StateError, match="the loss became nan in epoch 1: lower learning_rate"):
        fit_network(network(), rows, lambda output, y: output.sum() * float("nan"), epochs=1)
