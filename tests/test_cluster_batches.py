"""A worker's batches: every row once an epoch, in an order that can be taken up at any step."""

from __future__ import annotations

import numpy as np
import pytest

from dgtrees.cluster import batches
from dgtrees.cluster.workers import Workers
from dgtrees.learn.rows import Rows
from dgtrees.tables.examples import Examples


def as_rows(examples):
    return Rows(*(np.array(part) for part in (examples.X, examples.y, examples.weight)))


@pytest.mark.parametrize("window", [1 << 20, 600])
def test_every_row_comes_once_an_epoch_in_an_order_that_can_be_taken_up(monkeypatch, window):
    monkeypatch.setattr(batches, "_WINDOW_VALUES", window)
    number = np.arange(1000)
    examples = Examples(number[:, None].astype(float), number, np.ones(1000))
    feed = batches.DiskBatches(examples, as_rows, Workers())

    def epoch(which, done=0):
        return [batch.y for batch, _ in feed.batches(64, 0, which, done)]

    one, two = epoch(1), epoch(2)
    assert len(one) == feed.n_batches(64) == 16
    for made in (one, two):
        assert sorted(np.concatenate(made).tolist()) == number.tolist()
        assert {len(batch) for batch in made} <= {62, 63}
    assert np.concatenate(one).tolist() != np.concatenate(two).tolist()
    assert [b.tolist() for b in epoch(2, done=11)] == [b.tolist() for b in two[11:]]
