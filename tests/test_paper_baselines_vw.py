import builtins
import importlib.util

import numpy as np
import pytest

from dgtrees.bandit import Decision
from dgtrees.paper.baselines import VWBandit
from dgtrees.paper.baselines.vw import _text

needs_vw = pytest.mark.skipif(
    importlib.util.find_spec("vowpalwabbit") is None,
    reason="vowpalwabbit is not installed: pip install 'dgtrees[vw]'",
)


def stream(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 12))
    return X, np.argmax(X[:, :3], axis=1)


def play(policy, X, best):
    decisions = []
    for x, right in zip(X, best, strict=True):
        decision = policy.decide(x)
        policy.learn(x, decision, float(decision.action != right))
        decisions.append(decision)
    return decisions


@needs_vw
@pytest.mark.parametrize("options", ["", "--epsilon 0.1", "--first 300", "--bag 5"])
def test_learns_and_repeats(options):
    X, best = stream(3000)
    policy = VWBandit(3, options, random_state=0)
    decisions = play(policy, X, best)
    Xt, yt = stream(1000, 1)
    # Twelve features under bare integers for names would share weights: a third are right then.
    assert np.mean(policy.predict(Xt) == yt) > 0.8
    assert all(isinstance(d, Decision) and 0 < d.probability <= 1 for d in decisions)
    assert decisions == play(VWBandit(3, options, random_state=0), X, best)
    policy.close()


@needs_vw
def test_probabilities_are_those_that_actions_are_drawn_with():
    policy = VWBandit(4, "--epsilon 0.4", random_state=0)
    play(policy, *stream(200))
    x = stream(1)[0][0]
    chances = policy.action_probabilities(x[None])[0]
    assert chances.sum() == pytest.approx(1)
    assert sorted(chances) == pytest.approx([0.1, 0.1, 0.1, 0.7], abs=1e-6)
    decisions = [policy.decide(x) for _ in range(3000)]
    counts = np.bincount([d.action for d in decisions], minlength=4) / 3000
    assert counts == pytest.approx(chances, abs=0.03)
    assert all(d.probability == chances[d.action] for d in decisions)


@needs_vw
def test_options():
    assert VWBandit(3).command_ == "--quiet --cb_explore 3 --squarecb"
    command = VWBandit(3, "-l 0.01 --epsilon 0.5", random_state=7).command_
    assert command == "--quiet --cb_explore 3 --random_seed 7 -l 0.01 --epsilon 0.5"
    with pytest.raises(ValueError, match="must leave --cb_explore 3 to this class, got --cb_explo"):
        VWBandit(3, "--cb_explore_adf")
    with pytest.raises(ValueError, match="options must be Vowpal Wabbit's"):
        VWBandit(3, "--nonsense")
    with pytest.raises(ValueError, match="n_actions must be a whole number from 2 to"):
        VWBandit(0)


@needs_vw
def test_bad_feedback_is_refused_and_changes_nothing():
    X, best = stream(300)
    policy = VWBandit(3, random_state=0)
    play(policy, X, best)
    before = policy.action_probabilities(X[:20])
    for x, decision, loss, message in [
        (X[0], Decision(0, 0.5), 2.0, r"a loss must be from 0 to 1, got 2\.0"),
        (X[0], Decision(3, 0.5), 0.0, "action must be a whole number from 0 to 2, got 3"),
        (X[0], Decision(0, 0.0), 0.0, "above 0 and at most 1"),
        (X[0] * np.nan, Decision(0, 0.5), 0.0, "features must be finite"),
        (X[0][:3], Decision(0, 0.5), 0.0, r"X must have shape \(rows, 12\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            policy.learn(x, decision, loss)
    assert np.array_equal(policy.action_probabilities(X[:20]), before)


def test_names_are_no_bare_integers():
    assert _text(np.array([1.5, 0.0, -2e-7])) == "| f0:1.5 f2:-2e-07"


def test_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "vowpalwabbit":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"not installed: pip install 'dgtrees\[vw\]'"):
        VWBandit(3)
