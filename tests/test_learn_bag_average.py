"""Averages of bag models are linear scores again, or trees with a linear score beside them."""

import numpy as np
import pytest

from dgtrees.learn.bag_average import beside, fit_average, missing_top
from dgtrees.learn.bag_choice import BagChoice
from dgtrees.learn.bag_members import fit_bags
from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import BagPlan, fit_plan
from dgtrees.tables.bags import Bags
from reference_bags import concept_bags

SHARES = {BagPlan("sum", 0.3): 0.25, BagPlan("sum", 0.03): 0.5, BagPlan("sum", 0.1, 1, True): 0.25}


def table_of(bags=80, seed=0):
    X, ids, label = concept_bags(bags, lambda rows: rows[:, 0] > 0.5, seed)
    return BagTable(X.astype(np.float32), Bags.of(ids, len(X)), label)


def test_an_average_of_linear_scores_is_one_leaf_with_the_mean_slopes():
    table = table_of()
    line = fit_average({False: table, True: table}, SHARES)
    parts = {plan: fit_plan(table, plan) for plan in SHARES}
    wanted = sum(share * parts[plan].leaf_weights for plan, share in SHARES.items())
    assert line.n_leaves == 1
    np.testing.assert_allclose(line.leaf_weights, wanted, rtol=1e-9)
    alone = fit_average({False: table}, {BagPlan("sum", 0.1): 1.0})
    np.testing.assert_array_equal(
        alone.predict(table.X), fit_plan(table, BagPlan("sum", 0.1)).predict(table.X)
    )


def test_averages_score_bags_in_the_mean_as_their_parts_do():
    table = table_of()
    pool = table.bags.pool
    parts = [fit_plan(table, plan) for plan in SHARES]
    own = [pool(tree.predict(table.X)[:, 1], "sum").mean() for tree in parts]
    line = fit_average({False: table, True: table}, SHARES)
    found = pool(line.predict(table.X)[:, 1], "sum").mean()
    assert found == pytest.approx(np.dot(list(SHARES.values()), own))
    trees = [fit_plan(table, BagPlan("sum", None, 4), seed) for seed in range(2)]
    both = beside(line, trees, table, "sum")
    assert [tree.n_leaves for tree in both] == [tree.n_leaves for tree in trees]
    scores = np.mean([tree.predict(table.X)[:, 1] for tree in both], axis=0)
    of_trees = [pool(tree.predict(table.X)[:, 1], "sum").mean() for tree in trees]
    assert pool(scores, "sum").mean() == pytest.approx(0.5 * found + 0.5 * np.mean(of_trees))
    assert missing_top([line], [1.0], table, "sum") == pytest.approx(0.0)


def test_several_trees_share_half_of_a_linear_score():
    table = table_of()
    given = {"poolings": ("sum",), "seed": 1}
    plain = np.ones(table.X.shape[1], dtype=bool)
    several = fit_bags(table.X, table.bags, table.label, plain, n_trees=3, **given)
    assert several.choice.plan.max_leaves == 1  # a side of one column needs no tree
    slopes = [tree.leaf_weights for tree in several.trees]
    assert all(np.array_equal(leaf, slopes[0][0]) for tree in slopes for leaf in tree)
    assert any(tree.n_leaves > 1 for tree in several.trees)
    one = fit_bags(table.X, table.bags, table.label, plain, **given)
    assert one.trees[0].n_leaves == 1
    if one.choice.averaged > 1:
        assert f"averaged with {one.choice.averaged - 1} like it" in str(one.choice)


def test_one_tree_sees_distances_only_if_its_plan_has_them(monkeypatch):
    table = table_of()
    near, far = BagPlan("sum", None, 4), BagPlan("sum", 0.1, 4, True)
    told = BagChoice({near: [0.1], far: [0.1]}, near)
    monkeypatch.setattr("dgtrees.learn.bag_members.choose_bag_plan", lambda *given: told)
    plain = np.ones(table.X.shape[1], dtype=bool)
    one = fit_bags(table.X, table.bags, table.label, plain, poolings=("sum",))
    assert one.center is None and one.trees[0].n_features == table.X.shape[1]
    two = fit_bags(table.X, table.bags, table.label, plain, n_trees=2, poolings=("sum",))
    assert two.center is not None
