"""Which weights are delivered: averages, and those of the best epoch."""

from dataclasses import replace

import pytest
import torch

from dgtrees.learn.losses import squared
from dgtrees.learn.objective import evaluate
from dgtrees.learn.recipe import Recipe
from training_rows import examples, trainer


def test_averaged_weights_are_what_is_delivered():
    rows = examples()
    recipe = Recipe(epochs=4, averaging=0.5, learning_rate=1e-2)
    plain, averaged = (trainer(rows, replace(recipe, averaging=a)) for a in (0.0, 0.5))
    plain.fit(rows)
    averaged.fit(rows)
    assert not torch.equal(plain.module.leaf_values, averaged.module.leaf_values)
    # With validation rows the weights that were scored are the weights that are kept.
    checked = trainer(rows, recipe)
    result = checked.fit(rows, validation=rows)
    score = evaluate(checked.module, checked._feed(rows), False, squared)
    assert score["rmse"] == pytest.approx(result.best_score)
    assert result.best_score == min(result.history["val_rmse"])
