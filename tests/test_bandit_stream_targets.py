"""Labelled rows of a simulation: labels, values, and what answers to them cost."""

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.bandit.stream_targets import (
    HeldOut,
    compute_losses,
    is_finite,
    read_answers,
    read_stream_rows,
    read_targets,
)

CHOOSES = DGTBandit(3, max_depth=1, random_state=0)
NAMES = DGTContinuousBandit(0.0, 10.0, max_depth=1, random_state=0)


class Constant:
    """A policy, and a reference, of somebody else's."""

    n_actions = 3

    def __init__(self, answer=0):
        self.answer = answer

    def predict(self, X):
        return np.full(len(X), self.answer)


def test_which_policies_choose_among_actions():
    assert is_finite(CHOOSES) and is_finite(Constant()) and not is_finite(NAMES)


def test_whole_numbers_are_actions_and_other_labels_are_sorted():
    target, classes = read_targets(CHOOSES, [2, 0, 1], "0-1")
    assert target.tolist() == [2, 0, 1] and classes is None
    target, classes = read_targets(CHOOSES, ["b", "a", "b"], "0-1")
    assert target.tolist() == [1, 0, 1] and classes.tolist() == ["a", "b"]
    target, classes = read_targets(CHOOSES, [7, -1, 7], "0-1")
    assert target.tolist() == [1, 0, 1] and classes.tolist() == [-1, 7]


def test_values_and_whatever_a_loss_of_ones_own_takes():
    target, classes = read_targets(NAMES, [1, 2], "squared")
    assert target.dtype == np.float64 and classes is None
    pairs = np.zeros((2, 2))
    assert read_targets(CHOOSES, pairs, lambda action, y: 0.0)[0] is pairs


@pytest.mark.parametrize(
    ("policy", "y", "loss", "message"),
    [
        (CHOOSES, list("abcd"), "0-1", "at most n_actions=3 labels, got 4"),
        (CHOOSES, np.array(["a", 1], dtype=object), "0-1", "labels of one kind, got several"),
        (CHOOSES, ["a", None], "0-1", "without gaps, got None in row 1"),
        (CHOOSES, pd.array([1, pd.NA]), "0-1", "without gaps"),
        (CHOOSES, [[1]], "0-1", r"one label or value per row, got shape \(1, 1\)"),
        (NAMES, [1.0, np.nan], "squared", "finite and without gaps, got nan in row 1"),
        (NAMES, ["x"], "squared", "y must hold numbers"),
        (NAMES, [1e9], "squared", "loss must be a number of at most"),
    ],
)
def test_targets_that_are_refused(policy, y, loss, message):
    with pytest.raises(ValueError, match=message):
        read_targets(policy, y, loss)


def test_rows_of_foreign_policies_are_checked_before_the_stream_begins():
    assert read_stream_rows(Constant(), "X", [[1, 2]]).dtype == np.float64
    for X, message in (([["a"]], "rows of numbers"), ([[np.inf]], "finite rows"), ([1], "shape")):
        with pytest.raises(ValueError, match=f"X.* must be .*{message}"):
            read_stream_rows(Constant(), "X", X)


def test_losses_by_name_and_by_function():
    answers, y = np.array([1.0, 3.0]), np.array([1.0, 1.0])
    assert compute_losses("squared", answers, y).tolist() == [0.0, 4.0]
    assert compute_losses("absolute", answers, y).tolist() == [0.0, 2.0]
    assert compute_losses(lambda a, b: a + b, answers, y).tolist() == [2.0, 4.0]


def test_a_reference_answers_every_row_once():
    y = np.array([0, 1])
    assert read_answers(Constant(1), np.zeros((2, 1)), y, "0-1").tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"one answer to each of 2 rows, got shape \(3,\)"):
        read_answers(Constant(1), np.zeros((3, 1)), y, "0-1")


def test_held_out_rows_score_actions_as_the_labels_they_stand_for():
    X, classes = np.zeros((3, 1)), np.array(["a", "b"])
    held = HeldOut(Constant(1), X, ["b", "b", "a"], "0-1", classes, 1)
    assert held.score() == pytest.approx(2 / 3)
    beyond = HeldOut(Constant(2), X, ["b", "b", "b"], "0-1", classes, 1)
    assert beyond.score() == 0.0  # an action that no label stands for


@pytest.mark.parametrize(
    ("rows", "y", "width", "message"),
    [
        (None, [0], 1, "given together"),
        (np.zeros((2, 1)), [0], 1, "equally many rows, got 2 and 1"),
        (np.zeros((1, 2)), [0], 1, "the 1 features of X, got 2"),
        (np.zeros((0, 1)), [], 1, "equally many rows, got 0 and 0"),
    ],
)
def test_held_out_rows_that_are_refused(rows, y, width, message):
    with pytest.raises(ValueError, match=message):
        HeldOut(Constant(), rows, y, "0-1", None, width)
