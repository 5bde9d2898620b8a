"""A run goes on from its own checkpoint as if nothing had been, and from no other's."""

import pytest

from dgtrees import DGTClassifier, fit_shards
from dgtrees.cluster.workers import Workers
from dgtrees.errors import StateError
from shard_tables import StoppedError, same_tree


@pytest.mark.parametrize("after", ["an epoch", "a step"])
def test_a_run_goes_on_from_its_checkpoint_as_if_nothing_had_been(
    shards, tmp_path, monkeypatch, after
):
    options = {"max_depth": 3, "max_epochs": 5, "random_state": 0, "validation_fraction": 0.2}
    plain = fit_shards(DGTClassifier(**options), shards, "label")
    monkeypatch.setattr("dgtrees.cluster.shard_training._CHECKPOINT_STEPS", 4)
    calls = {"after_epoch": 0}
    keep = Workers.after_epoch

    def keep_and_stop(self, run):
        keep(self, run)
        calls["after_epoch"] += 1
        within = run.step > 0
        if calls["after_epoch"] > 6 and within == (after == "a step"):
            raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(Workers, "after_epoch", keep_and_stop)
        with pytest.raises(StoppedError):
            fit_shards(DGTClassifier(**options), shards, "label", checkpoint=tmp_path)
    resumed = fit_shards(DGTClassifier(**options), shards, "label", checkpoint=tmp_path)
    assert same_tree(resumed, plain)
    assert resumed.history_ == plain.history_
    assert resumed.best_score_ == plain.best_score_
    other = DGTClassifier(**{**options, "random_state": 5})
    with pytest.raises(StateError, match="must be the checkpoint of this run"):
        fit_shards(other, shards, "label", checkpoint=tmp_path)
