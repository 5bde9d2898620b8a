"""A worker's batches: every row once an epoch, in an order that can be taken up at any step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dgtrees.cluster import batches
from dgtrees.cluster.workers import Workers
from dgtrees.learn.rows import Rows
from dgtrees.tables.examples import Examples


def tensors(examples):
    X, y = torch.from_numpy(np.array(examples.X)), torch.from_numpy(np.array(examples.y))
    return Rows(X, y, torch.from_numpy(np.array(examples.weight)))


@pytest.mark.parametrize("window", [1 << 20, 600])
def test_every_row_comes_once_an_epoch_in_an_order_that_can_be_taken_up(monkeypatch, window):
    monkeypatch.setattr(batches, "_WINDOW_VALUES", window)
    number = np.arange(1000)
    examples = Examples(number[:, None].astype(float), number, np.ones(1000))
    feed = batches.DiskBatches(examples, tensors, Workers(), seed=0)
    generator = torch.Generator()

    def epoch(which, done=0):
        return [batch.y for batch, _ in feed.batches(64, generator, which, done)]

    one, two = epoch(1), epoch(2)
    assert len(one) == feed.n_batches(64) == 16
    for made in (one, two):
        assert sorted(torch.cat(made).tolist()) == number.tolist()
        assert {len(batch) for batch in made} <= {62, 63}
    assert torch.cat(one).tolist() != torch.cat(two).tolist()
    assert [b.tolist() for b in epoch(2, done=11)] == [b.tolist() for b in two[11:]]
