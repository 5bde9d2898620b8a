"""Errors of the library, and problems that are told together."""

import pytest

from dgtrees import errors
from dgtrees.errors import DataError, DGTreesError, Problems, StateError, UnusableColumnError


def test_every_error_is_caught_by_the_base_class():
    kinds = [errors.DataError, errors.ModelFileError, errors.StateError, errors.UnusableColumnError]
    assert all(issubclass(kind, DGTreesError) for kind in kinds)
    assert issubclass(UnusableColumnError, (DataError, ValueError))
    assert UnusableColumnError("no", "age").column == "age"


def test_nothing_wrong_settles_nothing():
    Problems().settle("do something")


def test_an_only_problem_gets_the_next_step_at_its_end():
    problems = Problems()
    problems.require(True, "this holds")
    with problems.collect():
        raise DataError("a file is missing")
    with pytest.raises(DataError, match=r"^a file is missing: fetch it$"):
        problems.settle("fetch it")


def test_the_first_problem_is_raised_and_the_others_are_its_notes():
    problems = Problems()
    problems.require(False, "first")
    with problems.collect():
        raise StateError("second")
    with problems.collect():
        inner = Problems()
        inner.require(False, "third")
        inner.require(False, "fourth")
        inner.settle()
    with pytest.raises(ValueError, match="first") as caught:
        problems.settle("then this")
    assert caught.value.__notes__ == ["second", "third", "fourth", "then this"]


def test_a_flood_of_problems_is_counted():
    problems = Problems()
    for number in range(1030):
        problems.require(False, f"problem {number}")
    with pytest.raises(ValueError, match="problem 0") as caught:
        problems.settle()
    notes = caught.value.__notes__
    assert len(notes) == 21 and notes[-1] == "and 1,009 more problems like these"


def test_mistakes_in_code_are_not_collected():
    problems = Problems()
    with pytest.raises(KeyError), problems.collect():
        raise KeyError("a bug")
    assert problems.found == []
