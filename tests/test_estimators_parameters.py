"""Checks before training: every rule by its message, and the way back."""

import pytest

from dgtrees import DGTClassifier, DGTForestClassifier, DGTRegressor
from dgtrees.estimators.parameters import (
    check_shape,
    check_size,
    checked_recipe,
    unchanged_on_error,
)
from dgtrees.learn.recipe import RECIPES, Recipe


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DGTClassifier(-1), "max_depth must be a whole number of at least 0 or 'auto', got -1"),
        (DGTClassifier(True), "max_depth must be a whole number"),
        (DGTClassifier(2.0), "max_depth must be a whole number"),
        (
            DGTForestClassifier(3, "deep"),
            "max_depth must be a whole number of at least 0 or 'auto'",
        ),
        (DGTClassifier(leaf="cubic"), "leaf must be 'auto' or 'constant' or 'linear', got 'cubic'"),
        (DGTForestClassifier(leaf="none"), "leaf must be 'auto' or 'constant' or 'linear', got 'n"),
        (DGTClassifier(max_leaves=1), "max_leaves must be a whole number of at least 2"),
        (DGTClassifier(3, max_leaves=8), "max_leaves=8 is for max_depth='auto', got max_depth=3"),
        (DGTRegressor(validation_fraction=1.0), "between 0 and 1, 'auto' or None, got 1.0"),
        (DGTClassifier(validation_fraction="some"), "got 'some'"),
    ],
)
def test_parameters_that_no_fit_can_use(model, message):
    with pytest.raises(ValueError, match=message):
        check_shape(model)


def test_linear_leaves_need_targets_whose_range_means_something():
    recipe = Recipe(target_scaling="none")
    checked_recipe(DGTRegressor(3, recipe=recipe), "regression")
    with pytest.raises(ValueError, match="target_scaling='none' is for leaf='constant'"):
        checked_recipe(DGTRegressor(3, leaf="linear", recipe=recipe), "regression")


def test_all_problems_are_told_at_once():
    model = DGTClassifier(-1, leaf="cubic", refine="more", recipe="none", l1=-1.0)
    with pytest.raises(ValueError, match="max_depth") as caught:
        checked_recipe(model, "classification")
    told = "\n".join(caught.value.__notes__)
    assert all(word in told for word in ("leaf must", "refine must", "recipe must", "l1 must"))


def test_parameters_replace_entries_of_the_recipe():
    recipe = checked_recipe(DGTClassifier(3, l2=0.5, max_epochs=7, batch_size=16), "classification")
    assert (recipe.l2, recipe.epochs, recipe.batch_size, recipe.min_batches) == (0.5, 7, 16, 1)
    assert (
        checked_recipe(DGTClassifier(3), "classification") == RECIPES["default"]["classification"]
    )


def test_one_hidden_width_serves_any_number_of_layers():
    recipe = Recipe(hidden=(12, 6), n_layers=3)
    assert checked_recipe(DGTClassifier(recipe=recipe, n_layers=5), "classification").hidden == 12
    given = DGTClassifier(recipe=recipe, n_layers=2, hidden=(3,))
    assert checked_recipe(given, "classification").hidden == (3,)


def test_polish_is_asked_for_by_a_word():
    assert checked_recipe(DGTClassifier(3, refine="polish"), "classification").polish > 0
    own = Recipe(polish=2)
    assert checked_recipe(DGTClassifier(recipe=own, refine="polish"), "classification").polish == 2


@pytest.mark.parametrize(
    ("depth", "leaf", "d", "outputs", "fits"),
    [
        (20, "constant", 1000, 2, True),
        (21, "constant", 1000, 2, False),
        (12, "linear", 1000, 200, True),
        (13, "linear", 1000, 200, False),
        (10**6, "constant", 1, 1, False),
    ],
)
def test_sizes_are_refused_before_anything_is_allocated(depth, leaf, d, outputs, fits):
    if fits:
        check_size(depth, leaf, d, outputs)
        return
    with pytest.raises(ValueError, match=r"at most 2\^30 numbers, got max_depth="):
        check_size(depth, leaf, d, outputs)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_estimator_is_as_it_was_when_something_fails(error):
    model = DGTClassifier(3)
    model.kept_ = before = [1]

    def fail():
        with unchanged_on_error(model):
            model.max_depth, model.new_ = 5, 1
            del model.kept_
            raise error

    with pytest.raises(error):
        fail()
    assert model.max_depth == 3 and model.kept_ is before and not hasattr(model, "new_")


def test_what_succeeds_stays():
    model = DGTClassifier(3)
    with unchanged_on_error(model):
        model.new_ = 1
    assert model.new_ == 1
