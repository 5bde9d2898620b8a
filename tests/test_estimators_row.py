"""predict_row: one row of numbers, answered as predict answers it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dgtrees import DGTClassifier, DGTForestClassifier, DGTForestRegressor, DGTRegressor
from dgtrees.paper.baselines import LCNClassifier
from dgtrees.tables.encoder import Encoder

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
VALUES = X[:, 0] - 2 * X[:, 2]
WITH_GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X)
FEW = {"max_depth": 2, "max_epochs": 2, "random_state": 0}
SMALL = FEW | {"n_estimators": 3}

MODELS = {
    "classes": (DGTClassifier(**FEW), LABELS),
    "linear classes": (DGTClassifier(leaf="linear", **FEW), LABELS),
    "values": (DGTRegressor(**FEW), VALUES),
    "linear values": (DGTRegressor(leaf="linear", **FEW), VALUES),
    "two values": (DGTRegressor(**FEW), np.stack([VALUES, -VALUES], axis=1)),
    "forest of classes": (DGTForestClassifier(**SMALL), LABELS),
    "hard votes": (DGTForestClassifier(voting="hard", **SMALL), LABELS),
    "linear forest": (DGTForestRegressor(leaf="linear", **SMALL), VALUES),
    "a model without a fast way": (LCNClassifier(max_depth=2, max_epochs=2), LABELS),
}


@pytest.mark.parametrize("rows", [X, WITH_GAPS], ids=["complete", "with gaps"])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_is_answered_as_in_a_batch(name, rows):
    model, y = MODELS[name]
    model.fit(rows, y)
    # Far rows too, whose linear leaves would leave the range of the targets.
    asked = np.concatenate([X[:10], WITH_GAPS[:10], 100 * X[:5]])
    for row, answer in zip(asked, model.predict(asked), strict=True):
        for given in (row, row.tolist()):
            found = model.predict_row(given)
            assert np.array_equal(found, answer) and type(found) is type(answer)
    single = asked.astype(np.float32)
    assert np.array_equal([model.predict_row(row) for row in single], model.predict(single))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (np.zeros(3), r"one row of 4 numbers, got shape \(3,\)"),
        (np.zeros((1, 4)), r"one row of 4 numbers, got shape \(1, 4\)"),
        ([0.0, np.inf, 0.0, 0.0], "finite or NaN .* got inf in column 1"),
        (["a", "b", "c", "d"], "x must hold numbers .*'a'"),
        ([0.0, {}, 0.0, 0.0], "x must hold numbers .*dict"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused(row, message):
    model = DGTClassifier(**FEW).fit(X, LABELS)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict_row(row)


def test_categories_are_for_predict():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": LABELS})
    model = DGTRegressor(**FEW).fit(frame, VALUES)
    with pytest.raises(TypeError, match="column 'b' holds categories: use predict"):
        model.predict_row([0.0, 1.0])


def test_rows_of_a_frame_must_have_the_columns_of_fit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = DGTRegressor(**FEW).fit(frame, VALUES)
    row = frame.iloc[5]
    assert model.predict_row(row) == model.predict(frame)[5]
    for wrong, message in (
        (row[::-1], "got 'd' in place 0 where fit had 'a': give"),
        (row[:3], "got None in place 3 where fit had 'd'"),
        (row.rename({"c": "e"}), "got 'e' in place 2 where fit had 'c'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict_row(wrong)
    unnamed = DGTRegressor(**FEW).fit(X, VALUES)  # knows places only
    assert unnamed.predict_row(row) == unnamed.predict(X)[5]


def test_the_missing_value_of_pandas_is_one():
    pandas = pytest.importorskip("pandas")
    model = DGTRegressor(**FEW).fit(WITH_GAPS, VALUES)
    expected = model.predict_row([np.nan, 1.0, 2.0, 3.0])
    assert model.predict_row([pandas.NA, 1.0, 2.0, 3.0]) == expected
    assert model.predict_row(pandas.Series([None, 1, 2, 3], dtype="Int64")) == expected


def test_answers_may_be_written_to():
    model = DGTRegressor(**FEW).fit(X, np.stack([VALUES, -VALUES], axis=1))
    before = model.predict(X[:1])[0]
    model.predict_row(X[0])[:] = 7.0
    assert np.array_equal(model.predict_row(X[0]), before)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        DGTClassifier().predict_row(X[0])


def test_an_encoder_that_learns_again_forgets_what_it_was():
    encoder = Encoder().fit_numbers(X, np.ones(80), "abcd")
    assert encoder.plain
    assert not encoder.fit_numbers(WITH_GAPS, np.ones(80), "abcd").plain
