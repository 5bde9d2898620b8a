"""One worker's part: encoding, weights, validation, scores."""

import numpy as np
import pyarrow as pa
import pytest

from dgtrees import DGTClassifier, DGTRegressor, fit_shards
from dgtrees.errors import StateError
from shard_tables import OPTIONS, ROWS, features, rows, same_tree, written


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


def test_rows_that_weigh_nothing_are_said_to(tmp_path):
    table = rows(100).append_column("w", pa.array(np.zeros(100)))
    folder = written(table, tmp_path / "shards", (0,))
    with pytest.raises(ValueError, match="at least one training row must weigh more than 0"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", weight="w")
