"""Answers: from outputs to what users asked for, and to a file's fields and back."""

import json

import numpy as np
import pytest

from dgtrees.errors import StateError
from dgtrees.model.answer import Actions, Classes, Values
from dgtrees.model.contents import answer_from

OUTPUTS = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]])


def test_classes_are_the_likeliest_the_first_of_equal_ones():
    answer = Classes(np.array(["a", "b", "c"]))
    assert answer.predict(OUTPUTS).tolist() == ["b", "a"]
    assert answer.predict(OUTPUTS[0]) == "b"
    shares = answer.probabilities(OUTPUTS)
    assert np.allclose(shares, np.exp(OUTPUTS) / np.exp(OUTPUTS).sum(axis=1, keepdims=True))
    assert answer.names == ["a", "b", "c"] and answer.n_outputs == 3


def test_values_lose_their_axis_where_there_is_one():
    assert Values().predict(OUTPUTS) is OUTPUTS
    single = Values((np.zeros(1), np.ones(1)), single_output=True)
    assert single.predict(OUTPUTS[:, :1]).tolist() == [0.0, 3.0]
    assert type(single.predict(OUTPUTS[0, :1])) is np.float64


def test_actions_are_the_best_scores():
    assert Actions(np.arange(3)).predict(OUTPUTS).tolist() == [1, 0]
    assert Actions(np.array(["mail", "gift", "call"])).predict(OUTPUTS[0]) == "gift"


@pytest.mark.parametrize(
    "labels",
    [["a", "long name"], [1, 5], [0.5, 1.5], [False, True], np.array(["x", "y"], dtype=object)],
)
def test_classes_come_back_from_a_file(labels):
    before = Classes(np.array(labels))
    after = answer_from(json.loads(json.dumps(before.to_header())))
    assert after.labels.dtype == before.labels.dtype
    assert after.labels.tolist() == before.labels.tolist()


def test_values_come_back_from_a_file():
    before = Values((np.array([0.1, 2.0]), np.array([1.0, 3.0])), single_output=False)
    after = answer_from(json.loads(json.dumps(before.to_header())))
    assert np.array_equal(after.bounds, before.bounds) and not after.single_output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["b", "a"]}, "in order and differ"),
        ({"classes": [1, 2]}, "labels of the type"),
        ({"classes": ["a", "much too long"]}, "must fit <U1"),
    ],
)
def test_changed_classes_are_refused(change, message):
    header = Classes(np.array(["a", "b"])).to_header()
    with pytest.raises(ValueError, match=message):
        answer_from(header | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_range": [[1.0], [0.0]]}, "target_range must be 1 numbers"),
        ({"outputs": 2}, "target_range must be 2 numbers"),
        ({"outputs": 2, "target_range": [[0, 0], [1, 1]]}, "single_output must be false"),
    ],
)
def test_changed_values_are_refused(change, message):
    header = Values((np.zeros(1), np.ones(1)), single_output=True).to_header()
    with pytest.raises(ValueError, match=message):
        answer_from(header | change)


def test_labels_of_other_types_cannot_be_saved():
    with pytest.raises(StateError, match="cannot be saved: use strings or numbers"):
        Classes(np.array([1j, 2j])).to_header()
