"""What a recipe refuses, and how its numbers depend on rows and columns."""

from dataclasses import replace

import numpy as np
import pytest

from dgtrees.learn.recipe import Recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": "adam"}, "optimizer must be one of adamw, rmsprop, sgd, got 'adam'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"l1": -1e-3}, "l1 must be a number of at least 0, got -0.001"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number above 0, got 'fast'"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number above 0, got nan"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1, got 2.5"),
        (
            {"quantizer": "tanh"},
            "quantizer must be one of sign, scaled_sign, margin, lsq, annealed",
        ),
        (
            {"label_smoothing": 1.0},
            "label_smoothing must be a number of at least 0 and below 1, got 1.0",
        ),
        ({"scaling": "robust"}, "scaling must be one of standard, absolute, got"),
        ({"target_scaling": "log"}, "target_scaling must be one of standard, range, none, got"),
        ({"layer_biases": 1}, "layer_biases must be True or False, got 1"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0, got 0.0"),
        ({"least_rate": 1.0}, "least_rate must be a number of at least 0 and below 1, got 1.0"),
    ],
)
def test_wrong_recipes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**change)


def test_wide_rows_bear_more_noise_and_many_rows_less_noise_and_a_smaller_rate():
    recipe = Recipe(
        learning_rate=1e-2, input_noise=0.1, reference_features=32, reference_rows=10_000
    )
    assert [recipe.noise(rows, 128) for rows in (10, 10_000, 40_000)] == [0.2, 0.2, 0.05]
    assert recipe.noise(10, 8) == 0.1
    assert recipe.node_rate(160_000, 8) == pytest.approx(5e-3)
    assert recipe.node_rate(10_000, 8) == 1e-2


@pytest.mark.parametrize("restarts", [0, 3])
def test_the_cosine_starts_at_the_rate_and_ends_at_zero_in_every_cycle(restarts):
    def factor(recipe, done):
        return recipe.rate_factor(np.array(done))

    recipe = Recipe(restarts=restarts)
    cycle = 1 / (restarts + 1)
    for start in range(restarts + 1):
        assert factor(recipe, start * cycle + 1e-9) == pytest.approx(1.0)
        assert factor(recipe, (start + 1) * cycle - 1e-9) == pytest.approx(0.0)
        assert factor(recipe, (start + 0.5) * cycle) == pytest.approx(0.5)
    assert factor(Recipe(schedule="constant"), 0.9) == 1.0
    kept = replace(recipe, least_rate=0.01)
    assert factor(kept, cycle - 1e-9) == pytest.approx(0.01)
    assert factor(kept, 0.0) == 1.0 and factor(kept, cycle / 2) == pytest.approx(0.505)
