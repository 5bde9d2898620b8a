"""Training on Parquet shards: by one worker, by two, and by two of which one is killed."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from sklearn.utils._param_validation import InvalidParameterError

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor, Recipe, fit_shards
from dgtrees.cli.app import run
from dgtrees.cluster import launch
from dgtrees.cluster.shard_files import find_shards, row_draws
from dgtrees.cluster.workers import Workers
from dgtrees.errors import DataError, ModelFileError, StateError

ROWS = 3000
OPTIONS = {"max_depth": 4, "max_epochs": 40, "random_state": 1}


def rows(count=ROWS, seed=0):
    """Two blobs a class, with gaps, a category and files of very different sizes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 5.0]
    city = rng.choice(["Oslo", "Rome", "Bonn"], size=count, p=[0.5, 0.45, 0.05])
    label = np.where(x[:, 0] + 0.1 * (x[:, 1] - 100.0) > 0, "yes", "no")
    label = np.where((city == "Rome") & (x[:, 2] > 0), "perhaps", label)
    x[rng.random(count) < 0.1, 3] = np.nan
    return pa.table({**{f"x{j}": x[:, j] for j in range(4)}, "city": city, "label": label})


def written(table, folder, edges=(0, 100, 1900)):
    folder.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(zip(edges, (*edges[1:], len(table)), strict=True)):
        part = table.slice(start, stop - start)
        parquet.write_table(part, folder / f"part-{i}.parquet", row_group_size=700)
    return folder


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return written(rows(), tmp_path_factory.mktemp("table") / "shards")


@pytest.fixture(scope="module")
def undisturbed(shards):
    return fit_shards(DGTClassifier(**OPTIONS), shards, "label", workers=2)


def features(table, target="label"):
    return table.drop_columns(target)


def same_tree(one, other):
    return all(
        np.array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
        for name in ("weights", "bias", "left", "right", "leaf_values")
    )


@pytest.mark.slow
def test_two_workers_are_as_good_as_one_and_as_one_process_with_all_rows(shards, undisturbed):
    table, fresh = rows(), rows(seed=1)
    X, y = features(fresh), fresh["label"].to_numpy()
    alone = fit_shards(DGTClassifier(**OPTIONS), shards, "label")
    whole = DGTClassifier(**OPTIONS).fit(features(table), table["label"].to_numpy())
    scores = [model.score(X, y) for model in (undisturbed, alone, whole)]
    assert min(scores) > 0.93
    assert max(scores) - min(scores) < 0.02
    # What is learnt of the table before training is exactly what one process learns.
    for model in (undisturbed, alone):
        assert model._encoder.to_json() == whole._encoder.to_json()
        assert np.allclose(model.encoded_feature_scale_, whole.encoded_feature_scale_, rtol=1e-12)
        assert model.classes_.tolist() == whole.classes_.tolist()
        assert model.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
        assert model.leaf_rows_.sum() == pytest.approx(ROWS)
        assert len(model.history_["loss"]) == model.n_iter_ == 40
    assert undisturbed.shards_report_ == {"rows": ROWS, "workers": 2, "restarts": 0}


@pytest.mark.slow
def test_the_model_is_like_any_other(undisturbed, tmp_path):
    X = features(rows(50, seed=2))
    undisturbed.save(tmp_path / "model.dgt")
    loaded = dgtrees.load(tmp_path / "model.dgt")
    assert np.array_equal(loaded.predict_proba(X), undisturbed.predict_proba(X))


def worker_process(folder, rank):
    """The process of one worker of a run, found by what it was started with."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended since
            continue
        if str(folder).encode() in words and f"RANK={rank}".encode() in variables:
            return int(place.name)
    raise AssertionError("there is no such worker")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_killed_worker_is_replaced_and_the_result_is_the_same(shards, undisturbed, tmp_path):
    model = DGTClassifier(**OPTIONS)
    options = {"workers": 2, "checkpoint": tmp_path}
    work = threading.Thread(target=fit_shards, args=(model, shards, "label"), kwargs=options)
    work.daemon = True
    work.start()
    while work.is_alive():
        progress = tmp_path / launch.PROGRESS
        if progress.exists() and json.loads(progress.read_text())["epoch"] >= 2:
            os.kill(worker_process(tmp_path, 1), signal.SIGKILL)
            break
        time.sleep(0.01)
    work.join(timeout=300)
    assert model.shards_report_["restarts"] == 1
    assert same_tree(model, undisturbed)
    assert model.history_ == undisturbed.history_


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidParameterError("x must be"), ValueError),
        (DataError("a file"), DataError),
        (ModelFileError("a model"), StateError),
        (TypeError("a type"), TypeError),
    ],
)
def test_a_workers_error_is_of_the_same_kind_here(error, kind, tmp_path):
    launch.report_failure(tmp_path, error)
    with pytest.raises(kind, match=str(error)):
        launch._raise_what_failed([1, None], tmp_path, max_restarts=0, kept=False)


@pytest.mark.slow
def test_a_worker_that_cannot_go_on_says_why(tmp_path):
    table = rows(400)
    bad = table.slice(200).set_column(0, "x0", pa.array([np.inf] * 200))
    folder = written(table.slice(0, 200), tmp_path / "shards", (0,))
    parquet.write_table(bad, folder / "z.parquet")
    with pytest.raises(DataError, match=r"z\.parquet, row 1, column 'x0': must be finite"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", workers=2)


class StoppedError(Exception):
    pass


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


def test_regression_with_validation_file_weights_and_refitted_leaves(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = 50.0 + 10.0 * np.where(X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 0) + rng.normal(size=1200)
    weight = rng.integers(0, 3, size=1200)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": y, "w": weight})
    folder = written(table.slice(0, 1000), tmp_path / "train", (0, 900))
    val = written(table.slice(1000), tmp_path / "val", (0,))
    model = DGTRegressor(3, max_epochs=30, random_state=0)
    fit_shards(model, folder, "y", val=val, weight="w")
    X_val = table.slice(1000).select(["x0", "x1", "x2"])
    error = np.sqrt(np.average((model.predict(X_val) - y[1000:]) ** 2, weights=weight[1000:]))
    assert model.shards_report_["validation_rmse"] == pytest.approx(error)
    assert error < 2.0
    assert model.leaf_rows_.sum() == pytest.approx(weight[:1000].sum())
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_class_weights_count_over_all_shards(shards):
    options = {**OPTIONS, "max_epochs": 3}
    plain = fit_shards(DGTClassifier(**options), shards, "label")
    balanced = fit_shards(DGTClassifier(**options, class_weight="balanced"), shards, "label")
    assert not same_tree(plain, balanced)
    assert balanced.leaf_rows_.sum() == pytest.approx(ROWS)
    only_two = {"yes": 1.0, "no": 1.0, "perhaps": 0.0}
    ignoring = fit_shards(DGTClassifier(**options, class_weight=only_two), shards, "label")
    assert ignoring.leaf_rows_.sum() == pytest.approx(ROWS)
    table = rows(10)
    with pytest.raises(StateError, match="fitted by fit_shards"):
        plain.partial_fit(features(table), table["label"].to_numpy())


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


def test_rows_that_weigh_nothing_are_said_to(tmp_path):
    table = rows(100).append_column("w", pa.array(np.zeros(100)))
    folder = written(table, tmp_path / "shards", (0,))
    with pytest.raises(ValueError, match="at least one training row must weigh more than 0"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", weight="w")


# Shards


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns("x1"), "got no 'x1'"),
        (lambda t: t.append_column("more", t["x0"]), "got also 'more'"),
        (lambda t: t.set_column(0, "x0", t["x0"].cast("float32")), "'x0'.*double.*got float"),
        (lambda t: t.select(t.column_names[::-1]), "in the order of"),
    ],
)
def test_files_of_another_schema_are_named(tmp_path, change, message):
    folder = written(rows(300), tmp_path / "shards", (0, 100))
    parquet.write_table(change(rows(20)), folder / "wrong.parquet")
    with pytest.raises(DataError, match=rf"wrong\.parquet.*{message}"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", workers=2)


def test_files_that_pandas_has_written(tmp_path):
    frame = rows(400).to_pandas()
    frame["city"] = frame["city"].where(frame.index < 200, frame.index.astype(str))
    parts = [frame.iloc[:200], frame.iloc[200:].sample(frac=1.0, random_state=0)]
    for number, part in enumerate(parts):  # the second has row labels, and more categories
        part.astype({"city": "category"}).to_parquet(tmp_path / f"{number}.parquet")
    schemas = [parquet.read_schema(path) for path in sorted(tmp_path.iterdir())]
    assert "__index_level_0__" in schemas[1].names
    assert len({schema.field("city").type for schema in schemas}) == 2
    model = fit_shards(DGTClassifier(2, max_epochs=2, random_state=0), tmp_path, "label")
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "city"]


def test_bad_folders_and_arguments_are_refused_in_one_line(shards, tmp_path):
    model = DGTClassifier(**OPTIONS)
    for call, error, message in [
        (lambda: fit_shards(model, tmp_path, "label"), DataError, "got none: check the folder"),
        (lambda: fit_shards(model, tmp_path / "a.parquet", "label"), DataError, "no such file"),
        (lambda: fit_shards(model, shards, "nothing"), DataError, "target must be one of"),
        (lambda: fit_shards(model, shards, "label", workers=0), ValueError, "workers must be"),
        (lambda: fit_shards(DGTClassifier(), shards, "label"), ValueError, "random_state must"),
        (lambda: fit_shards("tree", shards, "label"), TypeError, "model must be a DGTClassifier"),
        (lambda: fit_shards(DGTRegressor(random_state=0), shards, "label"), DataError, "numbers"),
        (
            lambda: fit_shards(DGTClassifier(random_state=0, refine="polish"), shards, "label"),
            ValueError,
            "needs all rows in memory",
        ),
        (
            lambda: fit_shards(
                DGTClassifier(random_state=0, recipe=Recipe(loss=torch.sub)),
                shards,
                "label",
                workers=2,
            ),
            ValueError,
            "start that with torchrun",
        ),
    ]:
        with pytest.raises(error, match=message) as raised:
            call()
        assert "\n" not in str(raised.value)
    assert not hasattr(model, "tree_")
    (tmp_path / "a.parquet").write_text("not Parquet")
    with pytest.raises(DataError, match=r"a\.parquet: not a readable Parquet file"):
        find_shards(tmp_path)


@pytest.mark.parametrize("rows_a_batch", [65_536, 100])
def test_rows_are_numbered_through_all_files(shards, monkeypatch, rows_a_batch):
    monkeypatch.setattr("dgtrees.tables.binary._ROWS_A_BATCH", rows_a_batch)
    found, table = find_shards(shards), rows()
    for workers in (1, 2, 7):
        parts = []
        for worker in range(workers):
            for first, batch in found.batches(found.share(worker, workers), ["x1"]):
                assert batch.rows and batch.column("x1")[0] == table["x1"][first]
                parts.append(batch.column("x1").to_numpy())
        assert np.array_equal(np.concatenate(parts), table["x1"].to_numpy())
    draws = row_draws(3, 0, 100)
    assert np.array_equal(draws[13:40], row_draws(3, 13, 27))
    assert 0.3 < draws.mean() < 0.7


# The command


def test_the_command_learns_from_a_folder(shards, tmp_path, capsys):
    saved, val = tmp_path / "m.dgt", tmp_path / "val.parquet"
    parquet.write_table(rows(300, seed=3), val)
    options = ["-t", "label", "-o", saved, "-d", "3", "--max-epochs", "4", "--drop", "x3"]
    command = ["fit", shards, *options, "--val", val, "--json"]
    assert run([str(word) for word in command]) == 0
    result = json.loads(capsys.readouterr().out)
    model = dgtrees.load(saved)
    assert result["rows"] == ROWS and result["workers"] == 1 and result["features"] == 4
    held = rows(300, seed=3)
    X, y = held.select(["x0", "x1", "x2", "city"]), held["label"].to_numpy()
    assert result["validation_accuracy"] == pytest.approx(model.score(X, y))
    for wrong, message in [
        (["fit", str(shards)], "needs --target"),
        (["fit", str(shards), "-t", "label", "--stream"], "--stream is for one file"),
        (["fit", str(tmp_path / "none"), "-t", "label", "--workers", "2"], "no such file"),
    ]:
        assert run([*wrong, "-o", str(saved)]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1
