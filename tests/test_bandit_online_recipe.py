"""What recipes promise of policies; the step itself is compared in test_tree_online.py."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

from dgtrees import DGTBandit, DGTContinuousBandit, load
from dgtrees.bandit import BanditRecipe, Epsilon
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.model import file as model_file
from dgtrees.tree.state import AVERAGE, VALUE, view_state

PAPER = RECIPES["paper"]["constant"]
ADDED = ("output_bias", "mean_gradients", "epsilon", "gradient_clip")  # since the first release


def taught(answers, *, actions=4, seed=0, **options):
    """A policy of height 3 that was told a loss of 1 nine times out of ten, whatever it did."""
    rng = np.random.default_rng(seed)
    policy = DGTBandit(actions, 3, random_state=seed, **options)
    for x in rng.normal(size=(answers, 5)):
        policy.learn(x, policy.decide(x), float(rng.random() < 0.9))
    return policy


def expected_losses(policy):
    """Of every action in every leaf, tried or not."""
    state = view_state(policy._arena)
    return expit(-(state.leaves + state.bias[VALUE]))


def test_the_shared_bias_tells_every_leaf_what_most_losses_are():
    policy = taught(4_000, recipe="paper")
    assert view_state(policy._arena).bias[VALUE] < -0.4
    assert expected_losses(policy).min() > 0.55


def test_without_it_what_was_not_tried_seems_better_than_it_can_be():
    policy = taught(4_000, recipe=replace(PAPER, output_bias=False))
    assert not view_state(policy._arena).bias.any()
    assert expected_losses(policy).min() < 0.52


@pytest.mark.parametrize("averaging", [0.0, 0.1])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_tree_has_the_bias_in_its_leaves(leaf, averaging):
    policy = taught(300, leaf=leaf, recipe=replace(PAPER, averaging=averaging))
    place = AVERAGE if averaging else VALUE
    assert view_state(policy._arena).bias[place] != 0
    X = np.random.default_rng(1).normal(size=(50, 5))
    scores = policy.tree_.predict(X)
    np.testing.assert_allclose(policy.expected_loss(X), expit(-scores), rtol=1e-6)


def test_a_price_has_the_bias_too():
    recipe = PAPER
    policy = DGTContinuousBandit(
        0, 10, 2, "constant", feedback="two-point", recipe=recipe, random_state=0
    )
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(3_000, 2)):
        d = policy.decide(x)
        policy.learn(x, d, [(action - 8.0) ** 2 for action in d.actions])
    X = rng.normal(size=(20, 2))
    assert view_state(policy._arena).bias[VALUE] > 0.2  # of the way from 5 to 10
    np.testing.assert_allclose(policy.predict(X), 8.0, atol=0.5)
    np.testing.assert_allclose(policy.tree_.predict(X)[:, 0], policy.predict(X), rtol=1e-6)


def test_leaves_start_uniform_within_one_over_the_root_of_their_number():
    policy = DGTBandit(40, 6, recipe="paper", random_state=0)
    policy.decide(np.ones(3))
    leaves = view_state(policy._arena).leaves
    assert np.abs(leaves).max() <= 1 / 8
    assert kstest(8 * leaves.ravel(), "uniform", args=(-1, 2)).pvalue > 0.01
    assert 0 < abs(view_state(policy._arena).bias[VALUE]) <= 1 / 8


def test_the_bias_is_in_the_file(tmp_path):
    policy = taught(203, recipe=replace(PAPER, averaging=0.1, gradient_clip=0.01))
    policy.save(tmp_path / "policy.dgt")
    again = load(tmp_path / "policy.dgt")
    assert again.recipe_ == policy.recipe_
    rng = np.random.default_rng(5)
    for x in rng.normal(size=(50, 5)):  # in the middle of an update of four
        one, other = policy.decide(x), again.decide(x)
        assert (one.action, one.probability) == (other.action, other.probability)
        policy.learn(x, one, 0.5)
        again.learn(x, other, 0.5)
    np.testing.assert_array_equal(view_state(policy._arena).bias, view_state(again._arena).bias)


def test_policies_of_the_first_release_still_load_and_have_no_bias(tmp_path):
    policy = taught(100, leaf="constant")
    policy.save(tmp_path / "new.dgt")
    header, arrays = model_file.read(tmp_path / "new.dgt")
    for name in ADDED:
        del header["recipe"][name]
    del arrays["state.bias"]
    model_file.write(tmp_path / "old.dgt", header, arrays)
    again = load(tmp_path / "old.dgt")
    X = np.random.default_rng(2).normal(size=(30, 5))
    np.testing.assert_array_equal(again.expected_loss(X), policy.expected_loss(X))
    assert not again.recipe_.output_bias and again.recipe_ == policy.recipe_


@pytest.mark.parametrize(
    ("field", "value"),
    [("gradient_clip", -1), ("epsilon", 0), ("output_bias", 1), ("mean_gradients", "yes")],
)
def test_bad_settings_are_named(field, value):
    with pytest.raises(ValueError, match=f"{field} must be .*, got"):
        replace(PAPER, **{field: value})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BanditRecipe(replay=-1), "replay must be a whole number from 0"),
        (lambda: BanditRecipe(replay=1.5), "replay must be a whole number"),
        (lambda: BanditRecipe(node_rate=np.nan), "node_rate must be a number"),
        (lambda: BanditRecipe(residual="cubic"), "residual must be one of"),
        (lambda: BanditRecipe(explore="epsilon"), "explore must be a rule"),
        (lambda: BanditRecipe(replay=True), "replay must be a whole number"),
        (lambda: BanditRecipe(node_rate="1"), "node_rate must be a number"),
        (lambda: BanditRecipe(baseline=None), "baseline must be True or False"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_paper_is_one_value_of_the_recipe():
    paper = RECIPES["paper"]["constant"]
    assert (paper.explore, paper.residual, paper.accumulate) == (Epsilon(0.3), "squared", 4)
    told = paper.settings(50, 3, 6, False)
    assert told.node_rate == told.leaf_rate == 1e-3
    assert told.replay == 0 and told.averaging == 0


def test_settings_are_plain_numbers_whatever_was_given():
    recipe = BanditRecipe(node_rate=np.float32(0.5), replay=np.int8(3), baseline=np.bool_(False))
    found = (recipe.node_rate, recipe.replay, recipe.baseline)
    assert found == (0.5, 3, False) and [type(v) for v in found] == [float, int, bool]
