"""Dates, target statistics and unused columns, exported: C and ONNX agree with Python."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTRegressor
from dgtrees.errors import ColumnWarning
from dgtrees.tables.encoder import Encoder
from dgtrees.tables.frames import MISSING
from exported import COMPILER, CModel, OnnxModel


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    rows = 2000
    when = pd.Timestamp("1899-12-01") + pd.to_timedelta(rng.integers(0, 2 * 10**9 * 3, rows), "s")
    frame = pd.DataFrame(
        {
            "when": when.where(rng.random(rows) > 0.1),
            "zone": [f"z{k:03}" for k in rng.integers(0, 120, rows)],
            "name": [f"n{k}" for k in range(rows)],
            "x": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
        }
    )
    frame.loc[::11, "zone"] = None
    effect = frame["zone"].map(effect_of, na_action="ignore").fillna(0)
    y = frame["when"].dt.month.fillna(0) + effect + rng.normal(size=rows)
    model = DGTRegressor(4, max_epochs=3, random_state=0, encoder=Encoder(on_unusable="drop"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        return model.fit(frame, y), frame


def effect_of(zone):
    return 7.0 * int(zone[1:]) % 5


def seconds(frame):
    epoch = frame["when"].to_numpy().astype("datetime64[s]")
    return np.where(np.isnat(epoch), np.nan, epoch.astype(np.int64))


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_c_encodes_what_python_does(fitted, tmp_path):
    model, frame = fitted
    zones = model._encoder.columns[1]
    code = zones.codes(frame["zone"].to_numpy(dtype=object)).astype(float)
    code[frame["zone"].isna()] = np.nan
    code[0] = -1.0  # never seen
    rows = np.column_stack([seconds(frame), code, np.zeros(len(frame)), frame["x"]])
    seen = frame.copy()
    seen.loc[0, "zone"] = "elsewhere"
    compiled = CModel(model, tmp_path)
    assert np.array_equal(compiled.apply(rows), model.apply(seen))
    assert np.array_equal(compiled.predict(rows)[:, 0], model.predict(seen))
    assert model.encoded_feature_names_[:4] == [
        "when year",
        "when month",
        "when weekday",
        "when hour",
    ]


def test_onnx_encodes_what_python_does(fitted):
    pytest.importorskip("onnxruntime")
    model, frame = fitted
    rows = {
        "when": seconds(frame)[:, None],
        "zone": frame["zone"].fillna(MISSING).to_numpy(dtype=object)[:, None],
        "x": frame["x"].to_numpy()[:, None],
    }
    exported = OnnxModel(model)
    found = dict(zip(exported.names, exported.session.run(None, rows), strict=True))
    assert np.array_equal(found["leaf"], model.apply(frame))
    assert np.array_equal(found["variable"][:, 0], model.predict(frame))
