"""What the members of a forest are, chosen by rows that trial trees have not seen."""

import numpy as np

from dgtrees.learn.member_choice import (
    MemberChoice,
    Trial,
    choose_members,
    first_plans,
    try_member,
)
from dgtrees.learn.members import MemberPlan, MemberRows, draw
from dgtrees.learn.pair_errors import PairErrors
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


def test_a_line_wants_a_linear_function_and_noise_wants_large_leaves():
    assert chosen(trial(LINE + 0.1 * NOISE)).plan.penalty is not None
    noisy = chosen(trial(0.3 * LINE + 2 * NOISE, classes=2))
    assert noisy.plan.min_rows > 1
    oblique = chosen(trial(LINE, classes=2))
    assert oblique.plan.directions > 0 and oblique.plan.penalty is None


def test_shares_that_are_too_even_are_not_worse_than_others():
    """Two plans by hand: one says too little of the right class, one is wrong more often."""
    own = trial(LINE, classes=2)
    label = own.rows.label

    def say(task):
        plan, seed = task
        rng = np.random.default_rng(seed)
        wide = plan.width > 2
        wrong = rng.random(400) < (0.38 if wide else 0.0)
        wrong |= (np.arange(400) % 10 == 0) & (not wide)
        return np.arange(400), np.eye(2)[np.where(wrong, 1 - label, label)]

    found = choose_members(
        own, "auto", lambda count: list(range(count)), lambda ts: [*map(say, ts)]
    )
    even, surer = (min(e for p, e in found.errors.items() if (p.width > 2) == w) for w in (1, 0))
    assert found.plan.width > 2 and even < 0.05 < surer
    judge = PairErrors(own.rows.target)
    for seed in range(20):
        judge.add(*say((MemberPlan(2, 8, 4), seed)))
    assert judge.mean(np.ones(400)) > surer  # as they are, even shares would lose


def test_the_best_has_had_all_its_trees_and_the_others_few():
    asked = {}

    def say(tasks):
        for plan, seed in tasks:
            asked.setdefault(plan, []).append(seed)
        return [try_member(own, task) for task in tasks]

    X, noise = np.random.default_rng(3).normal(size=(2, 1000, 4))
    examples = Examples(X, X[:, :1] - X[:, 1:2] + noise[:, :1], np.ones(1000))
    own = Trial(MemberRows(examples, None, 0), None)
    found = choose_members(own, "constant", lambda count: list(range(count)), say)
    assert asked[found.plan] == list(range(20))
    assert {len(seeds) for seeds in asked.values()} == {8, 20}
    assert found.errors[found.plan] == min(found.errors.values())


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
