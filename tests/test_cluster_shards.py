"""Training on Parquet shards: by one worker, by two, and by two of which one is killed."""

import json

import numpy as np
import pytest
import torch
from pyarrow import parquet

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor, Recipe, fit_shards
from dgtrees.cli.app import run
from dgtrees.cluster.shard_files import find_shards
from dgtrees.errors import DataError
from shard_tables import OPTIONS, ROWS, features, rows


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
