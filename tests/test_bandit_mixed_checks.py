"""Arrays of a mixed learner from outside: refused, or used without harm."""

import json
from pathlib import Path

import numpy as np
import pytest

import dgtrees
from dgtrees.bandit.mixed_learner import MixedLearner

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
ALL = np.ones(3, dtype=bool)


def teach(learner, rows):
    for x in X[rows]:
        action, chances = learner.decide(x, ALL)
        learner.learn(x, action, float(action == (x[0] > 0) + (x[1] > 0)), chances[action])


@pytest.fixture(scope="module")
def packed():
    learner = MixedLearner(4, 3, seed=0)
    teach(learner, slice(0, 300))
    return learner.pack()


def test_what_was_packed_is_taken(packed):
    teach(MixedLearner.unpack(*packed), slice(300, 400))


@pytest.mark.parametrize("kind", ["huge", "negative", "nan", "shape", "missing", "type"])
def test_changed_arrays_are_refused_or_harmless(packed, kind):
    settings, arrays = packed
    refused = 0
    for name, array in arrays.items():
        if not array.size or (name == "sizes" and kind in ("shape", "type")):
            continue
        changed = array.copy()
        place = tuple(int(rng.integers(size)) for size in array.shape)
        if kind == "huge":
            changed[place] = 2**62 if array.dtype.itemsize == 8 else 2**30
        elif kind == "negative":
            if array.dtype.kind == "u":
                continue
            changed[place] = -(2**30)
        elif kind == "nan":
            if array.dtype.kind != "f":
                continue
            changed[place] = np.nan
        elif kind == "shape":
            changed = changed[..., None]
        elif kind == "type":
            changed = changed.astype(np.float64 if array.dtype.kind in "iu" else np.int64)
        others = {n: a for n, a in arrays.items() if n != name}
        others |= {} if kind == "missing" else {name: changed}
        try:
            learner = MixedLearner.unpack(settings, others)
        except (ValueError, LookupError, TypeError):
            refused += 1
        else:
            assert kind not in ("nan", "shape", "missing", "type"), name
            teach(learner, slice(300, 330))  # nothing that it trusts leads out of its arrays
    assert refused > 5


@pytest.mark.parametrize(
    "change",
    [{"bonus": -1.0}, {"ridge": 5.0}, {"capacity": 0}, {"half_life": 1.0}, {"explore": 2.0}],
)
def test_settings_of_no_learner_are_refused(packed, change):
    settings, arrays = packed
    with pytest.raises(ValueError, match="must"):
        MixedLearner.unpack(settings | change, arrays)


def test_a_log_larger_than_its_answers_is_refused_before_it_is_made(packed):
    settings, arrays = packed
    with pytest.raises(ValueError, match="must not have room"):
        MixedLearner.unpack(settings, arrays | {"sizes": np.array([10**12, 2])})


def test_a_file_of_the_release_before_holds_the_same_numbers():
    released = Path(__file__).parent / "released"
    policy = dgtrees.load(released / "policy-mixed.dgt")
    rows = np.random.default_rng(0).normal(size=(12, 3))
    then = json.loads((released / "policy-mixed.json").read_text())
    np.testing.assert_allclose(policy.expected_loss(rows), then, rtol=1e-12)
    policy.learn(rows[0], policy.decide(rows[0]), loss=0.5)
    assert policy.n_answers == 301
