"""What bag trees are is chosen on held-out bags."""

import numpy as np
import pytest

from dgtrees.learn.bag_choice import BagChoice, choose_bag_plan, folds_of_bags
from dgtrees.learn.bag_members import fit_bags
from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import BagPlan
from dgtrees.tables.bags import Bags
from reference_bags import concept_bags


def sides(concept, bags=60, seed=0):
    X, ids, label = concept_bags(bags, concept, seed)
    return {False: BagTable(X.astype(np.float32), Bags.of(ids, len(X)), label)}


def corners(rows):
    """Two opposite corners of a square, which no linear score can tell from the others."""
    return (rows[:, 0] * rows[:, 1] > 0) & (np.abs(rows[:, :2]).min(axis=1) > 0.4)


def test_folds_hold_every_bag_once_with_both_labels():
    label = np.array([0] * 13 + [1] * 8)
    parts = folds_of_bags(label, 0)
    assert len(parts) == 5
    assert sorted(np.concatenate([held for _, held in parts]).tolist()) == list(range(21))
    for learn, held in parts:
        assert not set(learn) & set(held) and len(learn) + len(held) == 21
        assert all(set(label[part]) == {0, 1} for part in (learn, held))
    assert folds_of_bags(np.array([0, 0, 1]), 0) == []


def test_corners_need_a_tree_and_a_side_does_not():
    tree = choose_bag_plan(sides(corners), ("sum",), "auto", None, 0)
    assert tree.plan.max_leaves >= 4 and "<- kept" in str(tree)
    line = choose_bag_plan(sides(lambda rows: rows[:, 0] > 0.5), ("sum", "max"), "auto", 1, 0)
    assert line.plan.max_leaves == 1
    assert {len(told) for told in line.losses.values()} == {10}


def test_few_bags_choose_nothing():
    few = sides(corners, bags=2)
    assert choose_bag_plan(few, ("max",), "auto", None, 0).plan.pooling == "max"
    assert choose_bag_plan(few, ("sum",), "constant", None, 0).plan.penalty is None


def test_shares_are_of_plans_that_pool_alike():
    close, best, far = (BagPlan("sum", penalty) for penalty in (0.3, 0.1, 0.03))
    losses = {close: [0.11], best: [0.10], far: [0.9], BagPlan("max", 0.1): [0.1]}
    shares = BagChoice(losses, best).shares(bags=50)
    assert set(shares) == {close, best} and sum(shares.values()) == pytest.approx(1.0)
    assert shares[best] / shares[close] == pytest.approx(np.exp(0.5))
    assert BagChoice().shares(bags=50) == {BagChoice().plan: 1.0}


def test_the_highest_odds_must_be_ahead():
    total, top = BagPlan("sum", 0.1), BagPlan("max", 0.1)
    assert BagChoice({total: [0.110], top: [0.105]}).best(1) == total
    assert BagChoice({total: [0.120], top: [0.105]}).best(1) == top
    assert BagChoice({top: [0.105], BagPlan("max", 0.3): [0.1]}).best(1).penalty == 0.3


def labelled(width, seed=4):
    """Bags of three rows, positive where the first two columns add up to much in one of them."""
    random = np.random.default_rng(seed)
    bags = Bags(np.repeat(np.arange(40), 3), tuple(range(40)))
    X = random.normal(size=(120, width))
    X[:, -1] = 3.0  # constant
    label = (X[:, 0] + X[:, 1] > 1.5).reshape(40, 3).any(axis=1).astype(np.int64)
    return X, bags, label


@pytest.mark.parametrize("width", [5, 70])
def test_several_trees_differ_and_score_bags_as_one_does(width):
    X, bags, label = labelled(width)
    plain = np.arange(width) != 2
    given = {"max_leaves": 1, "poolings": ("sum",), "seed": 1}
    several = fit_bags(X, bags, label, plain, n_trees=4, **given)
    slopes = np.array([tree.leaf_weights[0, 1] for tree in several.trees])
    own = np.cumsum(1 + plain) - 1 - plain if several.center is not None else np.arange(width)
    unseen = (slopes[:, own] == 0).sum(axis=1)
    assert (unseen == 1).all() if width < 64 else (unseen >= 35).all()  # the constant is never seen
    assert not np.array_equal(slopes[0], slopes[1])
    scores = [tree.predict(several.rows)[:, 1] for tree in several.trees]
    pooled = bags.pool(np.mean(scores, axis=0), "sum")
    assert pooled.mean() == pytest.approx(np.mean([bags.pool(s, "sum") for s in scores]), abs=1.0)
    assert ((pooled > 0) == label).mean() > 0.75
    again = fit_bags(X, bags, label, plain, n_trees=4, **given)
    assert np.array_equal(again.trees[3].leaf_weights, several.trees[3].leaf_weights)
