"""What the baselines trained by torch share: parameters that are written once."""

from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone

from dgtrees.paper.baselines import (
    LCNRegressor,
    PATRegressor,
    TAOClassifier,
    TAORegressor,
    TELClassifier,
)

SHARED = {"max_epochs", "batch_size", "keep", "validation_fraction", "random_state", "verbose"}


@pytest.mark.parametrize("kind", [LCNRegressor, TELClassifier, PATRegressor])
def test_shared_parameters_and_own_ones_make_one_constructor(kind):
    known = signature(kind).parameters
    assert SHARED < set(known) == set(kind().get_params())
    by_place = [name for name, p in known.items() if p.kind is not p.KEYWORD_ONLY]
    assert by_place == ["max_depth"]


def test_defaults_are_each_methods_own():
    kinds = (LCNRegressor, TELClassifier, PATRegressor)
    assert [kind().max_depth for kind in kinds] == [8, 6, 6]
    assert [kind().learning_rate for kind in kinds] == [1e-3, 2e-2, 1e-2]
    tao = [(e.init, e.alpha, e.n_passes) for e in (TAOClassifier(), TAORegressor())]
    assert tao == [("cart", 0.3, 20), ("random", (30.0, 10.0, 3.0, 1.0), 5)]


def test_estimators_are_equal_to_themselves_alone():
    first, second = TELClassifier(3, gamma=0.5), TELClassifier(3, gamma=0.5)
    assert first != second and len({first, second}) == 2
    assert repr(first) == "TELClassifier(gamma=0.5, max_depth=3)"
    assert clone(first).get_params() == second.get_params()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_depth": 0}, "max_depth must be a whole number of at least 1 and below 16, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"batch_size": 1.5}, "batch_size must be a whole number of at least 1, got 1.5"),
        ({"keep": "first"}, "keep must be one of best, last, got 'first'"),
        ({"validation_fraction": 2.0}, "validation_fraction must be between 0 and 1 or None"),
    ],
)
def test_shared_parameters_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        PATRegressor(**change).fit(np.zeros((4, 1)), np.arange(4.0))
