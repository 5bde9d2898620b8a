import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees import DGTClassifier, DGTRegressor, load
from dgtrees.tables.encoder import Encoder, Targets, columns_of
from dgtrees.tables.target_statistics import (
    FOLDS,
    PRIOR_ROWS,
    assign_folds,
    category_means,
    held_out_means,
)


def slow_means(codes, groups, values, weight):
    mean = sum(w * v for w, v in zip(weight, values, strict=True)) / sum(weight)
    found = []
    for group in range(groups):
        rows = [i for i, code in enumerate(codes) if code == group]
        total = sum((weight[i] * values[i] for i in rows), PRIOR_ROWS * mean)
        found.append(total / (PRIOR_ROWS + sum(weight[i] for i in rows)))
    return [*found, mean]


@given(data=st.data(), rows=st.integers(1, 40), seed=st.integers(0, 99))
def test_means_and_folds_against_a_slow_twin(data, rows, seed):
    rng = np.random.default_rng(seed)
    codes, values = rng.integers(0, 4, rows), rng.normal(size=(rows, 2))
    weight = rng.integers(1, 4, rows).astype(float)
    means = category_means(codes, 3, values, weight)
    assert np.allclose(means, slow_means(codes, 3, values, weight))
    folds = assign_folds(codes[:, None].astype(float), values)
    held = held_out_means(codes, 3, values, weight, folds)
    for row in range(rows):
        others = folds != folds[row]
        if others.any():
            slow = slow_means(codes[others], 3, values[others], weight[others])
            assert np.allclose(held[row], slow[codes[row]])
    # The order of the rows does not matter, to the last bit.
    order = rng.permutation(rows)
    again = assign_folds(codes[order, None].astype(float), values[order])
    assert np.array_equal(category_means(codes[order], 3, values[order], weight[order]), means)
    assert sorted(again.tolist()) == sorted(folds.tolist()) and folds.max() < FOLDS


def table(rows=3000, values=150, seed=0):
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=values)
    zone = rng.integers(0, values, rows)
    frame = pd.DataFrame({"zone": [f"z{k:03}" for k in zone], "x": rng.normal(size=rows)})
    return frame, effect[zone] + 0.1 * rng.normal(size=rows)


def test_categories_beyond_the_budget_keep_what_they_say():
    frame, y = table()
    encoder = Encoder()
    X = encoder.fit_expand(columns_of(frame), np.ones(len(y)), Targets(y[:, None], ("mean",)))
    column = encoder.columns[0]
    assert (len(column.categories), len(column.pooled), column.other) == (64, 86, True)
    assert encoder.feature_names[64:] == ["zone=(other)", "zone: mean", "x"]
    assert "86 of 150 values" in encoder.notes[0]
    assert np.corrcoef(X[:, 65], y)[0, 1] > 0.9
    again = encoder.expand(columns_of(frame))
    assert np.array_equal(np.delete(X, 65, axis=1), np.delete(again, 65, axis=1))
    new = pd.DataFrame({"zone": ["never seen"], "x": [0.0]})
    assert np.isclose(encoder.expand(columns_of(new))[0, 65], y.mean())
    assert Encoder.from_json(encoder.to_json()).columns == encoder.columns


def test_statistics_of_training_rows_know_nothing_of_their_own_target():
    """Where a target is noise, held-out means must not tell it; means of all rows would."""
    frame, _ = table(rows=1500, values=400)
    y = np.random.default_rng(1).normal(size=len(frame))
    encoder = Encoder()
    X = encoder.fit_expand(columns_of(frame), np.ones(len(y)), Targets(y[:, None], ("mean",)))
    told = encoder.expand(columns_of(frame))
    at = encoder.feature_names.index("zone: mean")
    assert np.corrcoef(told[:, at], y)[0, 1] > 0.3
    assert abs(np.corrcoef(X[:, at], y)[0, 1]) < 0.15


@pytest.mark.parametrize("kind", [DGTRegressor, DGTClassifier])
def test_estimators_learn_from_them_and_files_hold_them(kind, tmp_path):
    frame, y = table()
    if kind is DGTClassifier:
        y = np.digitize(y, [-0.5, 0.5])
    model = kind(max_depth=3, max_epochs=5, random_state=0).fit(frame, y)
    shares = [f"zone: share of {k}" for k in range(3)]
    learnt = ["zone: mean target"] if kind is DGTRegressor else shares
    assert model.encoded_feature_names_[65 : 65 + len(learnt)] == learnt
    shuffled = np.random.default_rng(0).permutation(len(y))
    again = kind(max_depth=3, max_epochs=5, random_state=0).fit(frame.iloc[shuffled], y[shuffled])
    assert np.array_equal(again.predict(frame), model.predict(frame))
    model.save(tmp_path / "m.dgt")
    assert np.array_equal(load(tmp_path / "m.dgt").predict(frame), model.predict(frame))
