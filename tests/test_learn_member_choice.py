"""What the members of a forest are, chosen by rows that trial trees have not seen."""

import numpy as np
import pytest

from dgtrees.learn.member_choice import (
    MemberChoice,
    PairErrors,
    Trial,
    choose_members,
    first_plans,
    try_member,
)
from dgtrees.learn.members import MemberPlan, MemberRows, draw
from dgtrees.tables.examples import Examples

RNG = np.random.default_rng(2)
X = RNG.normal(size=(400, 4))
LINE = (X @ [1.0, 2.0, -1.0, 0.5])[:, None]
NOISE = RNG.normal(size=(400, 1))


def trial(y, classes=0, held=None, max_leaves=None):
    y = (y[:, 0] > 0).astype(np.int64) if classes else y
    return Trial(MemberRows(Examples(X, y, np.ones(400)), None, classes), max_leaves, held)


def chosen(trial, leaf="auto"):
    return choose_members(
        trial, leaf, lambda count: list(range(count)), lambda ts: [try_member(trial, t) for t in ts]
    )


def test_pair_errors_are_means_over_pairs_of_trees():
    rng = np.random.default_rng(0)
    target, said = rng.normal(size=(5, 2)), rng.normal(size=(4, 5, 2))
    unseen = [np.array([0, 1, 2]), np.array([0, 2]), np.array([2, 0]), np.array([4])]
    weight = np.array([1.0, 1.0, 3.0, 1.0, 1.0])
    errors = PairErrors(target)
    for rows, outputs in zip(unseen, said, strict=True):
        errors.add(rows, outputs[rows])
    products, pairs = 0.0, 0.0
    for row in range(5):
        told = [said[t, row] - target[row] for t in range(4) if row in unseen[t]]
        for a in range(len(told)):
            for b in range(len(told)):
                if a != b:
                    products += weight[row] * (told[a] @ told[b])
                    pairs += weight[row]
    assert errors.mean(weight) == pytest.approx(products / pairs)
    assert PairErrors(target).mean(weight) == np.inf


def test_the_scatter_of_trees_does_not_count():
    errors, rng = PairErrors(np.zeros((2000, 1))), np.random.default_rng(0)
    for _ in range(4):
        errors.add(np.arange(2000), 0.5 + rng.normal(size=(2000, 1)))
    assert errors.mean(np.ones(2000)) == pytest.approx(0.25, abs=0.05)


def test_a_line_wants_a_linear_function_and_noise_wants_large_leaves():
    assert chosen(trial(LINE + 0.1 * NOISE)).plan.penalty is not None
    noisy = chosen(trial(0.3 * LINE + 2 * NOISE, classes=2))
    assert noisy.plan.min_rows > 1
    oblique = chosen(trial(LINE, classes=2))
    assert oblique.plan.directions > 0 and oblique.plan.penalty is None


def test_leaves_of_one_kind_only():
    constant, linear = (chosen(trial(LINE), leaf) for leaf in ("constant", "linear"))
    assert all(plan.penalty is None for plan in constant.errors)
    assert all(plan.penalty is not None for plan in linear.errors)


def test_held_out_rows_judge_in_place_of_unseen_ones():
    held = X[:50].astype(np.float32), LINE[:50] * 0.0, np.ones(50)
    own = trial(LINE, held=held)
    unseen, outputs = try_member(own, (MemberPlan(2), 5))
    assert unseen.tolist() == list(range(50)) and outputs.shape == (50, 1)
    assert min(chosen(own).errors.values()) > 0.3  # these rows say something else
    unseen, _ = try_member(trial(LINE), (MemberPlan(2), 5))
    assert np.array_equal(unseen, np.flatnonzero(draw(own.rows, 1.0, 5) == 0))


def test_what_is_tried_fits_the_columns():
    for d in (1, 2, 9, 200):
        for classes in (False, True):
            plans = first_plans(d, classes, [None])
            assert len(set(plans)) == len(plans) > 0
            assert all(1 <= plan.columns <= d for plan in plans)
            assert all(plan.width <= max(d, 2) for plan in plans)
            assert d > 1 or not any(plan.directions for plan in plans)


def test_the_choice_is_shown_with_the_best_first():
    choice = MemberChoice({MemberPlan(2): 0.5, MemberPlan(3): 0.25}, MemberPlan(3))
    head, first, second = str(choice).splitlines()
    assert head.startswith("out-of-bag error") and first.endswith("<- kept")
    assert "0.50000" in second
