"""What of a model is in its file: all of it comes back, and parts that do not fit are refused."""

import warnings

import numpy as np
import pytest

from dgtrees.model.contents import describe, restore
from small_models import made

NAMES = ("tree", "values", "linear", "forest", "forest-linear", "tao-values")


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made()


def described(model):
    header, arrays = describe(model)
    types = {"i": "<i4", "f": "<f8"}
    return header, {name: array.astype(types[array.dtype.kind]) for name, array in arrays.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back_whole(name, models):
    maker, X = models[name]
    model = maker.model_
    again = restore("anything", *described(model))
    assert again.kind == "anything" and again.alone == model.alone
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.facts.importances, model.facts.importances)
    assert again.facts.feature_names == model.facts.feature_names
    assert again.facts.scores == model.facts.scores
    for one, other in zip(again.facts.leaf_rows, model.facts.leaf_rows, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ("feature_importances", "importances do not fit"),
        ("leaf_rows", "rows a leaf do not fit"),
        ("encoded_feature_scale", "scales do not fit"),
    ],
)
def test_arrays_of_another_length_are_refused(array, message, models):
    header, arrays = described(models["tree"][0].model_)
    arrays[array] = arrays[array][:-1]
    with pytest.raises(ValueError, match=message):
        restore("DGTClassifier", header, arrays)


def test_fields_that_do_not_fit_are_refused(models):
    header, arrays = described(models["forest"][0].model_)
    with pytest.raises(ValueError, match="classification cannot be combined by mean"):
        restore("DGTForestClassifier", header | {"combine": "mean"}, arrays)
    header, arrays = described(models["tree"][0].model_)
    with pytest.raises(ValueError, match="feature_names must be the encoder's"):
        restore("DGTClassifier", header | {"feature_names": ["c", "b", "a"]}, arrays)
    with pytest.raises(ValueError, match="input columns do not fit"):
        restore("DGTClassifier", header | {"n_features": 4}, arrays)
