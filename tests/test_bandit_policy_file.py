"""Policies that are saved go on as if nothing had happened; files that do not fit are refused."""

from dataclasses import replace

import numpy as np
import pytest

import dgtrees
from dgtrees import BanditRecipe, DGTBandit, DGTContinuousBandit
from dgtrees.bandit import (
    ContinuousDecision,
    Decision,
)
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.errors import ModelFileError, StateError
from dgtrees.model import file as model_file
from taught_policies import RULES, X, Y, saved, teach, teach_value

EXTREME = {
    "sgd": {"leaf_optimizer": "sgd", "leaf_rate": 1e6, "slope_rate": 1e6},
    "rmsprop": {"leaf_optimizer": "rmsprop"},
    "adagrad": {"leaf_optimizer": "adagrad"},
}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.rule)
@pytest.mark.parametrize(("leaf", "recipe"), [("constant", "default"), ("linear", "paper")])
def test_goes_on_after_loading_as_if_nothing_had_happened(rule, leaf, recipe, tmp_path):
    policy = teach(DGTBandit(4, 3, leaf, recipe=recipe, explore=rule, random_state=1))
    pending = [(x, policy.decide(x)) for x in X[200:210]]
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)
    for x, decision in reversed(pending):  # late, in another order
        for one in (policy, loaded):
            one.learn(x, Decision.from_json(decision.to_json()), 0.25)
    for i in range(300):
        decisions = [one.decide(X[i]) for one in (policy, loaded)]
        assert decisions[0][:4] == decisions[1][:4]  # ids tell the time
        for one, decision in zip((policy, loaded), decisions, strict=True):
            one.learn(X[i], decision, float(decision.action != Y[i]))
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_continuous_goes_on_after_loading(feedback, leaf, tmp_path):
    policy = teach_value(DGTContinuousBandit(-1, 4, 3, leaf, feedback=feedback, random_state=1))
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    for i in range(100):
        one, other = policy.decide(X[i]), loaded.decide(X[i])
        assert one == other
        loss = [0.1, 0.7] if feedback == "two-point" else 0.4
        policy.learn(X[i], one, loss)
        loaded.learn(X[i], ContinuousDecision.from_json(other.to_json()), loss)
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)


def test_a_policy_that_has_seen_nothing_can_be_saved_too(tmp_path):
    policy = DGTBandit(3, 2, "constant")
    with pytest.raises(StateError, match="call decide first"):
        policy.predict(X)
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    assert [policy.decide(x)[:4] for x in X[:20]] == [loaded.decide(x)[:4] for x in X[:20]]


def test_a_full_memory_survives_the_file(tmp_path):
    recipe = replace(BanditRecipe(), capacity=50)
    policy = teach(DGTBandit(4, 2, recipe=recipe, random_state=1))
    policy.save(tmp_path / "p.dgt")
    loaded = teach(dgtrees.load(tmp_path / "p.dgt"))
    assert saved(loaded, tmp_path) == saved(teach(policy), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"state.nodes": np.zeros((3, 2))},
        {"state.counts": np.array([5, 0, 10**6, 0, 0, 0, 0, 0], dtype=np.int32)},
        {"state.answers": np.full((30, 3), 9.0)},
        {"state.leaves": np.full((4, 8), np.nan)},
        {"state.mean": None},
    ],
)
def test_files_that_do_not_fit_are_refused(change, tmp_path):
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(30))
    policy.save(tmp_path / "p.dgt")
    header, arrays = model_file.read(tmp_path / "p.dgt")
    arrays = {name: a for name, a in (arrays | change).items() if a is not None}
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    model_file.write(tmp_path / "q.dgt", keep, arrays)
    with pytest.raises(ModelFileError, match="not a valid DGTBandit"):
        dgtrees.load(tmp_path / "q.dgt")


@pytest.mark.parametrize("optimizer", EXTREME)
def test_no_accepted_answer_makes_a_file_that_load_refuses(optimizer, tmp_path):
    paper = replace(RECIPES["paper"]["constant"], **EXTREME[optimizer])
    policy = DGTBandit(4, 3, "linear", recipe=paper, random_state=0)
    value = DGTContinuousBandit(0, 1, 3, "linear", delta=1e-6, recipe=paper, random_state=0)
    huge = X * [1e29, 1, 1, 1, 1e-30]
    for i, x in enumerate(huge):
        d = policy.decide(x)
        policy.learn(x, d._replace(probability=(1.0, 1e-300, 5e-324)[i % 3]), float(i % 2))
        value.learn(x, value.decide(x), 1e12 if i % 2 else -1e12)
    for one in (policy, value):
        one.save(tmp_path / "p.dgt")
        loaded = dgtrees.load(tmp_path / "p.dgt")
        np.testing.assert_array_equal(loaded.predict(X), one.predict(X))


@pytest.mark.parametrize("part", ["recipe", "parameters", "explore"])
def test_files_that_leave_something_out_are_refused(part, tmp_path):
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(30))
    policy.save(tmp_path / "p.dgt")
    header, arrays = model_file.read(tmp_path / "p.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    fields, name = {
        "recipe": (keep["recipe"], "baseline"),
        "parameters": (keep["parameters"], "loss_range"),
        "explore": (keep["recipe"]["explore"], "delta"),
    }[part]
    del fields[name]
    model_file.write(tmp_path / "q.dgt", keep, arrays)
    with pytest.raises(ModelFileError, match=f"not a valid DGTBandit.*{part} must have"):
        dgtrees.load(tmp_path / "q.dgt")
