"""Choice: what was tried, and what of it is shown."""

from dataclasses import replace

import pytest

from dgtrees.learn.chosen import Choice
from dgtrees.learn.plans import Plan

LINEAR, GROWN = Plan(max_leaves=1, penalty=1.0), Plan(max_leaves=8)
LARGER = replace(GROWN, max_leaves=16)


def a_choice():
    return Choice({LINEAR: [3.0, 5.0], GROWN: [1.0], LARGER: [2.0, 2.0]}, LARGER)


def test_scores_are_means_over_folds():
    choice = a_choice()
    assert choice.score(LINEAR) == 4.0 and choice.score(LINEAR, folds=1) == 3.0


def test_the_best_of_those_judged_often_enough():
    choice = a_choice()
    assert choice.best(lambda plan: True, folds=1) == GROWN
    assert choice.best(lambda plan: True, folds=2) == LARGER
    assert choice.best(lambda plan: plan.penalty is not None, folds=1) == LINEAR
    with pytest.raises(ValueError, match="empty"):
        choice.best(lambda plan: True, folds=3)


def test_of_equals_the_first():
    assert Choice({LARGER: [1.0], GROWN: [1.0]}).best(lambda plan: True, folds=1) == LARGER


def test_text_has_the_best_of_every_kind_and_always_what_was_kept():
    lines = str(a_choice()).splitlines()
    assert len(lines) == 3  # a head, a linear model, and a grown tree: the kept one
    kept = [line for line in lines if line.endswith("<- kept")]
    assert kept == [lines[1]] and str(LARGER) in kept[0]
    assert str(GROWN) not in "\n".join(lines[1:]).replace(str(LARGER), "")
