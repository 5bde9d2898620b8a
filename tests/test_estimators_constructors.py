"""Constructors: every estimator's parameters, in scikit-learn's manner."""

import inspect

import pytest
from sklearn.base import clone

from dgtrees import DGTClassifier, DGTForestClassifier, DGTForestRegressor, DGTRegressor
from dgtrees.estimators.constructors import ForestParameters, TrainingParameters, TreeParameters
from dgtrees.learn.recipe import Recipe

ALL = (DGTClassifier, DGTRegressor, DGTForestClassifier, DGTForestRegressor)
TREES, FORESTS = ALL[:2], ALL[2:]


def names(kind):
    return set(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", ALL)
def test_the_documented_parameters_are_those_of_the_signature(kind):
    listed = kind.__doc__.split("Parameters\n")[1].split("Attributes\n")[0].split("\n")
    heads = [line.split(" : ")[0] for line in listed if line[:4] == "    " and line[4:5].isalpha()]
    assert {name.strip() for head in heads for name in head.split(",")} == names(kind)


@pytest.mark.parametrize("kind", ALL)
def test_all_but_the_size_is_given_by_name(kind):
    positional = [
        name
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    assert positional == (["max_depth"] if kind in TREES else ["n_estimators", "max_depth"])
    with pytest.raises(TypeError):
        kind(3, 3, "linear")


def test_what_estimators_share_and_what_is_their_own():
    assert all(names(TrainingParameters) <= names(kind) for kind in ALL)
    assert all(names(TreeParameters) <= names(kind) for kind in TREES)
    assert all(names(ForestParameters) <= names(kind) for kind in FORESTS)
    assert {"class_weight"} == names(DGTClassifier) - names(DGTRegressor)
    assert {"class_weight", "voting"} == names(DGTForestClassifier) - names(DGTForestRegressor)


def test_defaults_that_differ_between_tasks():
    assert (DGTClassifier().validation_fraction, DGTRegressor().validation_fraction) == (
        None,
        "auto",
    )
    heights = DGTForestClassifier()._default_height, DGTForestRegressor()._default_height
    assert heights == (8, 6)


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_stored_untouched_and_cloned(kind):
    recipe, wrong = Recipe(), object()
    model = kind(recipe=recipe, l1=wrong, random_state=7)  # a wrong value is fit's to refuse
    assert model.recipe is recipe and model.l1 is wrong
    assert vars(model).keys() == names(kind) == model.get_params().keys()
    copy = clone(kind(batch_size=3, random_state=7))
    assert (copy.batch_size, copy.random_state, copy.l1) == (3, 7, None)


def test_estimators_are_told_apart_by_identity_and_shown_by_what_differs():
    one, other = DGTClassifier(3), DGTClassifier(3)
    assert one != other and len({one, other}) == 2
    assert repr(one) == "DGTClassifier(max_depth=3)"
