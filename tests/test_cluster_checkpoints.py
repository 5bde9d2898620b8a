"""A run goes on from its own checkpoint as if nothing had been, and from no other's."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from dgtrees import DGTClassifier, fit_shards
from dgtrees.cluster.checkpoints import Checkpoints
from dgtrees.cluster.workers import Workers
from dgtrees.errors import StateError
from dgtrees.learn.processes import Processes
from dgtrees.learn.recipe import Recipe
from shard_tables import StoppedError, same_tree
from training_rows import any_descent, plain_rows, squared_loss


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


# Plain arrays: one process, and any step


RECIPE = Recipe(
    n_layers=2,
    hidden=5,
    loss=squared_loss,  # of one's own: step by step, as for rows on disk
    epochs=3,
    batch_size=32,
    min_batches=1,
    input_noise=0.1,
    averaging=0.1,
    clip=0.5,
    momentum=0.5,
    restarts=1,
)
ROWS, HELD = plain_rows(120, weighted=True), plain_rows(40, seed=1)
STEPS = 3 * 4


class Keeping(Processes):
    """Keeps every state, and breaks off after some of them."""

    def __init__(self, path, last=None):
        self.checkpoints, self.last, self.kept = Checkpoints(path, "this run", 1), last, 0

    def resume(self, run):
        state = self.checkpoints.read()
        if state is not None:
            self.checkpoints.restore(run, state, 0)

    def after_step(self, run):
        self.checkpoints.write(run, [run.loss_sum])
        self.kept += 1
        if self.kept == self.last:
            raise StoppedError

    after_epoch = after_step


def run_of(path, recipe=RECIPE, **options):
    """A new run, as a new process has it: it goes on from the checkpoint if there is one."""
    processes = Keeping(path, **options)
    return any_descent(recipe).begin(ROWS, recipe, HELD, processes=processes)


def everything(run):
    P = run.descent.parameters
    return [P.values, P.first, P.second, P.average]


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop", "sgd"])
def test_every_step_is_one_to_go_on_from_with_the_same_bits(optimizer, tmp_path):
    recipe = replace(RECIPE, optimizer=optimizer, learning_rate=1e-3)
    plain = run_of(tmp_path / "undisturbed.npz", recipe).advance()
    told = plain.finish()
    assert plain.descent.steps == STEPS
    for last in range(1, STEPS):
        path = tmp_path / f"{last}.npz"
        with pytest.raises(StoppedError):
            run_of(path, recipe, last=last).advance()
        resumed = run_of(path, recipe)
        assert resumed.descent.steps == last
        assert resumed.advance().finish() == told
        for one, other in zip(everything(resumed), everything(plain), strict=True):
            assert np.array_equal(one, other)


def test_broken_off_again_and_again(tmp_path):
    plain = run_of(tmp_path / "undisturbed.npz").advance()
    path = tmp_path / "checkpoint.npz"
    for _ in range(STEPS - 1):
        with pytest.raises(StoppedError):
            run_of(path, last=1).advance()
    resumed = run_of(path).advance()
    assert resumed.finish() == plain.finish()
    for one, other in zip(everything(resumed), everything(plain), strict=True):
        assert np.array_equal(one, other)


def test_every_worker_gets_its_own_sum_of_losses(tmp_path):
    run = run_of(tmp_path / "one.npz")
    checkpoints = Checkpoints(tmp_path / "all.npz", "this run", 1)
    checkpoints.write(run, [0.1, 1 / 3, 7.0])
    for rank, own in enumerate([0.1, 1 / 3, 7.0]):
        checkpoints.restore(run, checkpoints.read(), rank)
        assert run.loss_sum == own


def test_there_is_nothing_to_read_at_first(tmp_path):
    assert Checkpoints(tmp_path / "checkpoint.npz", "this run", 1).read() is None


@pytest.fixture
def kept(tmp_path):
    """A checkpoint of the fifth step."""
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(StoppedError):
        run_of(path, last=5).advance()
    return path


def test_it_holds_arrays_and_a_line_of_json_and_nothing_to_execute(kept):
    with np.load(kept, allow_pickle=False) as found:
        assert {"values", "first", "second", "average", "best", "told"} == set(found)
        assert all(found[name].dtype == np.float32 for name in set(found) - {"told"})
        told = json.loads(str(found["told"]))
    assert told["about"] == "this run" and (told["steps"], told["step"]) == (5, 1)


def damaged(content):
    """The ways a file may be damaged."""
    middle = len(content) // 2
    yield "empty", b""
    yield "cut short", content[:middle]
    yield "without its end", content[:-10]
    yield "of another kind", b"not a checkpoint"
    yield "a pickle", pickle.dumps({"told": 1})
    yield "flipped", content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


def test_damaged_files_are_refused(kept):
    for what, content in damaged(kept.read_bytes()):
        kept.write_bytes(content)
        with pytest.raises(StateError, match="not a readable checkpoint: delete it") as found:
            run_of(kept)
        assert str(kept) in str(found.value) and "\n" not in str(found.value), what


def rewritten(path, **changes):
    with np.load(path) as found:
        arrays = dict(found) | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"values": None},
        {"told": None},
        {"told": np.array("[1, 2]")},
        {"told": np.array('{"about": "this run"}')},
        {"told": np.array("{")},
        {"values": np.zeros(3, np.float32)},
        {"values": np.zeros(1, np.float32)},
        {"values": np.array([{}], dtype=object)},
    ],
)
def test_files_with_other_contents_are_refused(changes, kept):
    rewritten(kept, **changes)
    with pytest.raises(StateError, match="not a readable checkpoint: delete it"):
        run_of(kept)


def test_the_checkpoint_of_another_run_is_refused(kept):
    run = run_of(kept.with_name("new.npz"))
    checkpoints = Checkpoints(kept, "another run", 1)
    with pytest.raises(StateError, match="must be the checkpoint of this run"):
        checkpoints.restore(run, checkpoints.read(), 0)
