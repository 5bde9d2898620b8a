"""The search for settings: what a setting that fails does to it, and which rows it is about."""

import joblib
import numpy as np
import pyarrow as pa
import pytest
import torch

from dgtrees.errors import StateError
from dgtrees.estimators.search import Search
from dgtrees.tables.fingerprint import fingerprint


def explosive(prediction, target):
    return torch.exp(100 * (prediction - target).abs()).mean(dim=1)


class Exploding(Search):
    """A search in which trials of the given numbers diverge."""

    numbers = ()

    def _parameters(self, trial):
        parameters = super()._parameters(trial)
        if trial.number in self.numbers:
            parameters |= {"loss": explosive, "learning_rate": 1.0}
        return parameters


def values(rows=60):
    X = np.random.default_rng(0).normal(size=(rows, 2))
    return X, X[:, 0] + X[:, 1] ** 2


def search(tmp_path, numbers=()):
    options = {"space": "default", "max_depth": 2, "max_epochs": 2}
    made = Exploding("regression", tmp_path / "m.dgt", study=tmp_path / "s", **options)
    made.numbers = numbers
    return made


def states(made):
    return [trial.state.name for trial in made.study.get_trials()]


def test_a_setting_that_diverges_is_one_not_to_choose(tmp_path):
    made = search(tmp_path, {1})
    assert made.run(*values(), trials=3).number != 1
    assert states(made) == ["COMPLETE", "FAIL", "COMPLETE"]


def test_a_failed_setting_does_not_take_its_neighbours_along(tmp_path):
    made = search(tmp_path, {0})
    with joblib.parallel_config("threading"):
        assert made.run(*values(), trials=2, n_jobs=2).number == 1
    assert states(made) == ["FAIL", "COMPLETE"]
    assert (tmp_path / "m.dgt").exists()


def test_where_no_setting_can_be_trained_the_reason_is_said(tmp_path):
    made = search(tmp_path, {0, 1})
    with joblib.parallel_config("threading"), pytest.raises(StateError, match="loss became"):
        made.run(*values(), trials=4, n_jobs=2)
    assert states(made) == ["FAIL", "FAIL"]


def test_a_study_is_about_one_table(tmp_path):
    X, y = values()
    made = search(tmp_path)
    made.run(X, y, trials=1)
    for rows, weight in ((X + 1.0, None), (X, np.arange(1.0, 61.0))):
        with pytest.raises(StateError, match="a search on other rows or columns"):
            made.run(rows, y, weight, trials=1)
    made.run(X, y, trials=1)


def test_fingerprints_see_values_and_names_and_nothing_else():
    table = pa.table({"x": [1.0, None, -0.0], "c": ["a", None, "b"]})
    same = pa.table({"x": [1.0, np.nan, 0.0], "c": table["c"].dictionary_encode()})
    assert fingerprint([table]) == fingerprint([same])
    others = [
        table.rename_columns(["x", "d"]),
        table.take([1, 0, 2]),
        table.set_column(1, "c", pa.array(["a", "b", "b"])),
        table.select(["x"]),
        table.select(["c", "x"]),
    ]
    found = {fingerprint([other]) for other in [table, *others]}
    assert len(found) == 1 + len(others)
    assert fingerprint([table, None]) != fingerprint([table, np.ones(3)])
