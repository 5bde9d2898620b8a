"""Model: one finished model, whoever made it, answers as its maker does."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dgtrees import DGTBandit, Model, ObliqueForest, ObliqueTree
from dgtrees.errors import StateError
from dgtrees.model.answer import Classes
from dgtrees.model.model import model_of
from small_models import made

TREE = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[0.0, 2.0], [1.0, 0.0]])
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])


@pytest.fixture(scope="module")
def models():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: found for name, found in made().items() if name != "policy-new"}


def test_every_model_answers_as_its_maker_does(models):
    for name, (maker, X) in models.items():
        model = maker.model_
        assert model.kind == type(maker).__name__
        if name.startswith("policy"):
            # A policy's tree may differ by rounding from the scaled one it learns with.
            assert np.allclose(model.predict(X), maker.predict(X)), name
            continue
        answers = maker.encode(X)[0] if hasattr(maker, "encode") else maker.predict(X)
        assert np.array_equal(model.predict(X), answers), name
        assert np.array_equal(model.apply(X), maker.apply(X)), name
        if isinstance(model.answer, Classes):
            assert np.array_equal(model.predict_proba(X), maker.predict_proba(X)), name
        else:
            with pytest.raises(TypeError, match="is for classes"):
                model.predict_proba(X)


def test_single_rows_are_answered_as_in_a_batch(models):
    for name in ("tree-numbers", "values", "forest", "forest-values", "tao", "policy-linear"):
        maker, X = models[name]
        model = maker.model_
        one = [model.predict_row(x) for x in X]
        assert np.array_equal(one, model.predict(X)), name


def test_columns_of_a_frame_are_found_by_name(models):
    maker, X = models["linear"]
    model = maker.model_
    turned = X.assign(more=1.0)[["c", "more", "b", "a"]]
    assert np.array_equal(model.predict(turned), maker.predict(X))
    assert model.names == ["a", "b", "c"]
    assert [model.names[j] for j in model.source] == ["a", "a", "b", "b", "b", "c", "c"]
    assert model.encoded_names == maker.encoded_feature_names_
    assert len(model.typical) == len(model.spread()) == maker.tree_.n_features


def test_trees_and_forests_are_models_of_their_outputs():
    model, forest = model_of(TREE), model_of(ObliqueForest([TREE]))
    assert np.array_equal(model.predict(ROWS), TREE.predict(ROWS))
    assert model.apply(ROWS).shape == (3,) and forest.apply(ROWS).shape == (3, 1)
    assert model.names == model.encoded_names == ["x0", "x1"]
    assert model.typical is None and model.leaf_rows() is None
    assert model_of(model) is model
    model.predict_row(ROWS[0])[:] = 7.0  # a copy: the leaf stays as it is
    assert np.array_equal(model.predict(ROWS), TREE.predict(ROWS))


def test_a_model_is_frozen_and_can_be_pickled():
    model = Model(ObliqueForest([TREE]), Classes(np.array(["a", "b"])), alone=True)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))
    with pytest.raises(FrozenInstanceError):
        model.kind = "other"  # type: ignore[misc]


def test_what_is_no_model_says_so():
    with pytest.raises(StateError, match="has not seen a row yet"):
        model_of(DGTBandit(2, 2, "constant"))
    with pytest.raises(TypeError, match="tree of dgtrees, got dict: give a fitted one"):
        model_of({})
    with pytest.raises(TypeError, match="takes a model of one tree, got ObliqueForest of 2"):
        model_of(ObliqueForest([TREE, TREE])).one_tree("explain")
    with pytest.raises(ValueError, match="feature_scale must be 2 numbers"):
        model_of(TREE).spread([1.0])
    with pytest.raises(ValueError, match="leaf_rows must be 2 numbers"):
        model_of(TREE).leaf_rows([1.0])


def test_columns_may_be_named_anew_before_or_after_encoding(models):
    model = models["linear"][0].model_
    encoded = model.named_features(["height", "city", "age"])
    assert len(encoded) == model.forest.n_features
    assert encoded[:2] == ["height", "log(height)"] and encoded[-1].startswith("age")
    own = [f"c{j}" for j in range(model.forest.n_features)]
    assert model.named_features(own) == own
    with pytest.raises(ValueError, match="must name the 3 columns, or all 7 encoded ones, got 2"):
        model.named_features(["height", "age"])


def test_a_model_is_shown_in_one_line(models):
    for maker, _ in models.values():
        model = maker.model_
        shown = repr(model)
        assert "\n" not in shown and len(shown) < 400 and model.kind in shown
