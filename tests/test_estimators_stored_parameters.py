"""Parameters of estimators through JSON and back."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgtrees import DGTClassifier, DGTForestRegressor
from dgtrees.estimators.stored_parameters import parameters_of, unfitted
from dgtrees.learn.recipe import Recipe
from dgtrees.tables.encoder import Encoder


def again(model):
    return unfitted(type(model), json.loads(json.dumps(parameters_of(model))))


@given(
    st.one_of(st.none(), st.integers(0, 12), st.just("auto")),
    st.one_of(st.none(), st.integers(1, 99), st.tuples(st.integers(1, 9), st.integers(1, 9))),
    st.one_of(
        st.none(),
        st.just("balanced"),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.booleans()), st.floats(0, 9)),
    ),
)
def test_parameters_come_back_with_their_types(max_depth, hidden, class_weight):
    model = DGTClassifier(max_depth, hidden=hidden, class_weight=class_weight, random_state=0)
    assert again(model).get_params() == model.get_params()


def test_numbers_of_numpy_become_plain_ones():
    model = DGTForestRegressor(np.int64(3), max_samples=np.float64(0.5), bootstrap=np.bool_(True))
    found = again(model)
    assert (found.n_estimators, found.max_samples, found.bootstrap) == (3, 0.5, True)
    assert type(found.n_estimators) is int


def test_a_recipe_of_ones_own_comes_back_whole():
    recipe = Recipe(hidden=(7, 5), l1=0.1, quantizer="sign")
    assert again(DGTClassifier(recipe=recipe)).recipe == recipe
    assert again(DGTClassifier(recipe="paper")).recipe == "paper"


def test_what_json_cannot_hold_is_left_out():
    def loss(prediction, target):
        return prediction

    random = np.random.RandomState(0)
    model = DGTClassifier(loss=loss, random_state=random, encoder=Encoder(drop=["a"]))
    found = again(model)
    assert found.loss is None and found.random_state is None and found.encoder is None
    assert model.loss is loss
