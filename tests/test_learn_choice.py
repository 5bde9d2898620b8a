"""Which plan is chosen, and by what."""

from dataclasses import replace

import numpy as np
import pytest

from dgtrees.learn import choice
from dgtrees.learn.choice import Choice, choose
from dgtrees.learn.folds import held_out_parts
from dgtrees.learn.linear import PENALTIES
from dgtrees.learn.plans import Plan, Table, fit_plan
from dgtrees.learn.shrinkage import STRENGTHS
from test_learn_plans import table

by_classes = pytest.mark.parametrize("classes", [0, 3])


def fold(classes=0, most=60):
    rows = table(200, classes=classes)
    held = np.arange(200) % 5 == 0
    return choice._Fold(rows.take(~held), rows.take(held), 3, most)


def trained(fold, plan):
    """Held-out loss of the plan's finished tree."""
    return fold.loss(fit_plan(fold.train, plan, fold.seed).predict(fold.held.X))


# What is judged is what is trained


@by_classes
def test_linear_models_are_judged_as_they_are_trained(classes):
    part = fold(classes)
    found = part.linear()
    assert [plan.penalty for plan in found] == list(PENALTIES)
    for plan, loss in found.items():
        assert trained(part, plan) == pytest.approx(loss, rel=1e-3)


@by_classes
@pytest.mark.parametrize("penalty", [None, 10.0])
def test_grown_trees_of_all_sizes_are_judged_as_they_are_trained(classes, penalty):
    part = fold(classes, most=1000)  # beyond what leaves of 20 rows allow
    part.linear()
    found = part.grown(penalty)
    assert {plan.max_leaves for plan in found} >= {2, 64, 512, 1000}
    assert {plan.strength for plan in found} == set(STRENGTHS)
    assert (Plan() in found) == (penalty is None)
    for plan in list(found)[::7]:
        assert trained(part, plan) == pytest.approx(found[plan], rel=1e-2 if penalty else 1e-9)


@by_classes
def test_descended_trees_are_judged_as_they_are_trained(classes):
    part = fold(classes)
    found = part.descended(Plan(max_leaves=8, min_rows=5, strength=10.0, start=10.0))
    assert {plan.epochs for plan in found} == {10, 20, 30}
    for plan in list(found)[::7]:
        if not plan.strength:  # leaves that no row reaches are pruned, ancestors with them
            assert trained(part, plan) == pytest.approx(found[plan], rel=1e-6)
        else:
            assert trained(part, plan) == pytest.approx(found[plan], rel=0.05)


@by_classes
def test_layers_are_judged_as_they_are_trained(classes):
    part = fold(classes)
    found = part.layered(Plan(max_depth=3, noise=0.1))
    learnt = [plan for plan in found if plan.learnt == 1.0]
    assert len(learnt) == len(STRENGTHS)
    assert trained(part, learnt[0]) == pytest.approx(found[learnt[0]], rel=0.05)


# Folds


@pytest.mark.parametrize(("n", "count"), [(50, 5), (999, 5), (1000, 3), (2500, 2), (5000, 1)])
def test_folds_are_apart_and_there_are_fewer_for_many_rows(n, count):
    rows = Table(np.arange(n, dtype=np.float32)[:, None], np.zeros((n, 1)), np.ones(n), False)
    parts = held_out_parts(rows, rows.weight, seed=0)
    assert len(parts) == count
    seen = np.concatenate([held.X.ravel() for _, held in parts])
    assert len(np.unique(seen)) == len(seen) == sum(len(held) for _, held in parts)
    for train, held in parts:
        assert sorted(np.concatenate([train.X, held.X]).ravel()) == list(range(n))
        assert len(held) == pytest.approx(n / 5, abs=1)


def test_classes_are_spread_over_folds():
    label = np.repeat([0, 1, 2], [80, 15, 5])
    X = np.arange(100, dtype=np.float32)[:, None]
    rows = Table(X, np.eye(3)[label], np.ones(100), True)
    for _, held in held_out_parts(rows, rows.weight, seed=0):
        assert held.target.sum(axis=0).tolist() == [16, 3, 1]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("classes", [0, 2])
def test_few_rows_are_judged_by_as_many_folds_as_there_are_rows(n, classes):
    rows = table(5, classes=classes, weighted=False).take(np.arange(n))
    parts = held_out_parts(rows, rows.weight, seed=0)
    assert len(parts) == n
    for train, held in parts:
        assert len(train) == max(n - 1, 1) and len(held) == 1
    chosen = choose(rows, None, seed=0)
    assert np.isfinite(chosen.score(chosen.plan))


def repeated(labels=2, levels=6, n=3000, seed=0):
    """One column of few values, classes by chance: next to no different rows."""
    rng = np.random.default_rng(seed)
    x = rng.integers(levels, size=n)
    share = np.where(x % 2, 0.85, 0.15)
    label = (rng.random(n) < share).astype(int)
    pairs, weight = np.unique(np.stack([x, label], axis=1), axis=0, return_counts=True)
    X = pairs[:, :1].astype(np.float32)
    return Table(X, np.eye(labels)[pairs[:, 1]], weight.astype(float), True)


def test_repetitions_of_the_same_inputs_are_spread_over_folds():
    rows = repeated()
    parts = held_out_parts(rows, rows.weight, seed=0)
    assert len(parts) == 5
    for train, held in parts:
        assert len(train) == len(held) == len(rows)
        assert train.weight.sum() + held.weight.sum() == pytest.approx(rows.weight.sum())
        assert held.weight.sum() == pytest.approx(rows.weight.sum() / 5, rel=0.01)
        np.testing.assert_allclose(train.weight + held.weight, rows.weight)
        assert np.abs(held.weight - rows.weight / 5).max() > 1  # drawn, not shared out
    chosen = choose(rows, None, seed=0)
    tree = fit_plan(rows, chosen.plan, 0)
    loss = np.average(rows.losses(tree.predict(rows.X)), weights=rows.weight)
    assert loss < 0.45  # of which 0.42 are chance, where 0.69 knows nothing


def test_a_row_of_much_weight_is_held_out_as_a_whole():
    rows = table(200, weighted=False)
    rows = replace(rows, weight=np.full(200, 1000.0))
    for train, held in held_out_parts(rows, rows.weight, seed=0):
        assert len(train) + len(held) == 200
        assert (held.weight == 1000).all()


def test_class_weights_do_not_decide_how_rows_are_spread():
    rows = repeated()
    heavy = replace(rows, weight=rows.weight * 7.3)
    parts = held_out_parts(rows, rows.weight, 0), held_out_parts(heavy, rows.weight, 0)
    for one, other in zip(*parts, strict=True):
        np.testing.assert_allclose(one[1].weight * 7.3, other[1].weight)


# The search


@pytest.mark.parametrize("leaf", ["auto", "constant", "linear"])
@pytest.mark.parametrize("max_leaves", [2, 3, 11, None])
def test_nothing_is_tried_that_may_not_be_chosen(leaf, max_leaves, monkeypatch):
    monkeypatch.setattr(choice, "_PROMISING", 1e9)  # every kind of plan to the end
    chosen = choose(table(120, classes=2), None, 0, leaf, max_leaves)
    assert chosen.plan in chosen.losses
    assert any(plan.epochs for plan in chosen.losses)
    assert any(plan.max_depth for plan in chosen.losses)
    for plan in chosen.losses:
        assert leaf != "constant" or plan.penalty is None
        assert leaf != "linear" or plan.penalty is not None
        leaves = 2**plan.max_depth if plan.max_depth else plan.max_leaves
        assert max_leaves is None or leaves <= max_leaves


@by_classes
def test_the_choice_is_the_same_for_a_seed_and_any_number_of_threads(classes):
    rows = table(120, classes=classes)
    one, two = (choose(rows, None, 4, n_threads=threads) for threads in (1, 2))
    assert one.losses == two.losses
    assert one.plan == two.plan
    assert choose(rows, None, 5).losses != one.losses


def test_given_rows_are_what_it_is_judged_by():
    rows = table(150, classes=2)
    held = table(40, classes=2, seed=9)
    chosen = choose(rows, held, 0)
    assert {len(losses) for losses in chosen.losses.values()} == {1}
    tree = fit_plan(rows, chosen.plan, 0)
    loss = np.average(held.losses(tree.predict(held.X)), weights=held.weight)
    assert loss == pytest.approx(chosen.score(chosen.plan), rel=0.05)
    mirrored = Table(held.X, held.target[:, ::-1], held.weight, True)
    assert choose(rows, mirrored, 0).plan != chosen.plan


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_was_judged_by_all_folds_and_is_the_best_of_those(seed, monkeypatch):
    monkeypatch.setattr(choice, "_PROMISING", 1e9)
    monkeypatch.setattr(choice, "_NOISES", (1.0,))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 3)).astype(np.float32)
    hints = (X[:, 0] + 0.7 * rng.normal(size=100) > 0).astype(int)
    rows = Table(X, np.eye(2)[hints], np.ones(100), True)
    chosen = choose(rows, None, seed)
    whole = [plan for plan, losses in chosen.losses.items() if len(losses) == 5]
    assert chosen.plan == min(whole, key=chosen.score)
    few = [plan for plan, losses in chosen.losses.items() if len(losses) < 5]
    assert all(plan.epochs or plan.max_depth for plan in few)


def test_layers_that_lead_on_the_first_folds_are_judged_by_the_others(monkeypatch):
    asked = {}

    def layered(self, plan):
        tree = plan.noise, plan.epochs
        asked[tree] = asked.get(tree, 0) + 1
        return {replace(plan, strength=1.0): 0.001 * plan.noise if asked[tree] <= 2 else 9.0}

    monkeypatch.setattr(choice._Fold, "layered", layered)
    chosen = choose(table(120, classes=2), None, 0)
    judged = [chosen.losses[plan] for plan in chosen.losses if plan.max_depth]
    assert [0.0001, 0.0001, 9.0, 9.0, 9.0] in judged  # and no other goes beyond the first two
    assert sorted(map(len, judged))[:-1] == [2] * (len(judged) - 1)
    assert chosen.plan.max_depth == 0


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_answered_by_a_constant(seed):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(150, 20)).astype(np.float32), rng.normal(size=(150, 1))
    assert choose(Table(X, noise, np.ones(150), False), None, seed).plan == Plan()


def decided(losses):
    """Whether what is best on five folds is kept, by the losses of all plans."""
    search = choice._Search(table(120), None, np.ones(120), 0, None, 1)
    search.choice = Choice(losses)
    return search.decide().plan


def test_a_plan_that_only_the_fold_itself_would_choose_is_luck():
    best, constant = Plan(max_leaves=2), [1.0] * 5
    losses = {Plan(): constant, best: [0.9, 0.95, 0.9, 0.95, 0.9]}
    assert decided(dict(losses)) == best
    # Without a fold, another plan would have led each time, and failed on it.
    for k in range(5):
        losses[Plan(max_leaves=4 + k)] = [2.0 if k == fold else 0.85 for fold in range(5)]
    assert decided(dict(losses)) == Plan()
    # A gain within two standard errors is none, whoever else was tried.
    assert decided({Plan(): constant, best: [0.5, 1.2, 0.6, 1.1, 0.9]}) == Plan()


# What it tells


def told():
    linear, grown = Plan(penalty=10.0), Plan(max_leaves=8)
    lucky, kept = Plan(max_leaves=8, epochs=10), Plan(max_leaves=4, epochs=20)
    losses = {
        linear: [0.5, 0.7],
        replace(linear, penalty=1.0): [0.9, 0.9],
        grown: [0.4, 0.4],
        lucky: [0.1],
        kept: [0.2, 0.3],
    }
    return Choice(losses, kept)


def test_a_choice_prints_the_best_of_every_kind_and_what_was_kept():
    assert str(told()).splitlines() == [
        "held-out loss   folds  what",
        "       0.2500       2  grown to 4 leaves of 1+ rows, 20 epochs  <- kept",
        "       0.4000       2  grown to 8 leaves of 1+ rows",
        "       0.6000       2  linear (penalty 10)",
    ]


def test_scores_are_means_over_the_first_folds():
    chosen = told()
    linear = Plan(penalty=10.0)
    assert chosen.score(linear) == pytest.approx(0.6)
    assert chosen.score(linear, 1) == pytest.approx(0.5)
    assert chosen.best(lambda plan: True, 1) == Plan(max_leaves=8, epochs=10)
    assert chosen.best(lambda plan: True, 2) == chosen.plan
    assert chosen.best(lambda plan: plan.penalty is not None, 2) == linear


# Both sides of a table


def two_sides(classes=0, n=200):
    """A table whose bent side says what the other one hides."""
    rows = table(n, classes=classes)
    hidden = np.sign(rows.X) * np.expm1(3 * np.abs(rows.X))
    return replace(rows, X=hidden.astype(np.float32), bent=rows.X)


@by_classes
@pytest.mark.parametrize("work", ["linear", "grown", "descended", "layered"])
def test_the_bent_side_is_judged_as_it_is_trained(classes, work):
    rows, held = two_sides(classes), np.arange(200) % 5 == 0
    part = choice._Fold(rows.take(~held), rows.take(held), 3, 60, bent=True)
    plans = {
        "descended": Plan(None, 8, 5, bent=True),
        "layered": Plan(max_depth=3, noise=0.1, epochs=20, bent=True),
    }
    arguments = {"grown": (None,), "linear": ()}.get(work, (plans.get(work),))
    found = {plan: loss for plan, loss in getattr(part, work)(*arguments).items() if plan.bent}
    for plan, loss in list(found.items())[:: max(1, len(found) // 4)]:
        tree = fit_plan(rows.take(~held), plan, part.seed)
        outputs = tree.predict(rows.bent[held])
        if work != "layered":  # whose leaves of no rows are taken away
            assert part.loss(outputs) == pytest.approx(loss, rel=2e-2)


@by_classes
def test_the_side_that_says_more_is_chosen(classes):
    rows = two_sides(classes, 400)
    if not classes:
        rows = replace(rows, target=rows.bent.sum(axis=1, keepdims=True).astype(np.float64))
    found = choose(rows, None, seed=0)
    assert found.plan.bent
    assert "long tails bent" in str(found)


def test_a_side_that_is_no_better_for_linear_models_is_left():
    rows = table(200)
    found = choose(replace(rows, bent=rows.X), None, seed=0)
    assert {plan.max_leaves for plan in found.losses if plan.bent} == {1}
    assert not any(plan.bent for plan in choose(rows, None, seed=0).losses)


def test_rare_classes_are_judged_by_more_folds():
    rows = table(6000, classes=2)
    target = np.zeros((6000, 2))
    target[np.arange(6000), (np.arange(6000) < 60).astype(int)] = 1.0
    assert len(held_out_parts(rows, rows.weight, seed=0)) == 1
    rare = replace(rows, target=target)
    assert len(held_out_parts(rare, rare.weight, seed=0)) == 5
