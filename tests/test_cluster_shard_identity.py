"""What a run is: rows, parameters and loss."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from dgtrees import DGTRegressor, fit_shards
from dgtrees.cluster.workers import Workers
from dgtrees.errors import StateError
from shard_tables import StoppedError, rows, same_tree, written


def squared_log(prediction, target):
    return torch.log1p((prediction - target).square()).mean(dim=1)


def absolute_log(prediction, target):
    return torch.log1p((prediction - target).abs()).mean(dim=1)


def kept(folder, place, monkeypatch, **options):
    """The checkpoint folder of a run that was broken off after an epoch."""
    keep = Workers.after_epoch

    def keep_and_stop(self, run):
        keep(self, run)
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(Workers, "after_epoch", keep_and_stop)
        with pytest.raises(StoppedError):
            small(folder, place, **options)
    return place


def small(folder, place, target="x1", **options):
    model = DGTRegressor(2, max_epochs=2, random_state=0, **options)
    return fit_shards(model, folder, target, drop=["label"], checkpoint=place)


def test_a_checkpoint_is_of_these_rows_wherever_they_lie(tmp_path, monkeypatch):
    table = rows(300)
    folder = written(table, tmp_path / "one", (0, 100))
    place = kept(folder, tmp_path / "run", monkeypatch)
    order = np.arange(300)
    order[[5, 6]] = order[[6, 5]]
    values = table["x2"].to_numpy().copy()
    values[200] *= 0.99
    for number, other in enumerate(
        (table.take(order), table.set_column(2, "x2", pa.array(values)))
    ):
        changed = written(other, tmp_path / f"other-{number}", (0, 100))
        with pytest.raises(StateError, match="must be the checkpoint of this run"):
            small(changed, place)
    with pytest.raises(StateError, match="must be the checkpoint of this run"):
        small(folder, place, target="x0")
    moved = written(table, tmp_path / "moved", (0, 40, 210))
    # Whether progress is shown depends on the terminal, and changes nothing.
    resumed = small(moved, place, verbose=1)
    assert same_tree(resumed, small(folder, None))


def test_a_checkpoint_is_of_this_loss(tmp_path, monkeypatch):
    folder = written(rows(300), tmp_path / "shards", (0,))
    place = kept(folder, tmp_path / "run", monkeypatch, loss=squared_log)
    for other in (absolute_log, "huber", None):
        with pytest.raises(StateError, match="must be the checkpoint of this run"):
            small(folder, place, loss=other)
    assert same_tree(small(folder, place, loss=squared_log), small(folder, None, loss=squared_log))
    for nameless in (torch.nn.MSELoss(), lambda *both: squared_log(*both)):
        with pytest.raises(ValueError, match="must be a function at the top level of a module"):
            small(folder, place, loss=nameless)
