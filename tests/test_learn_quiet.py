"""Warnings of tried fits."""

import threading
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from dgtrees.learn.quiet import quiet

UNCONVERGED = ConvergenceWarning("cut short")
MANY = UserWarning("The number of unique classes is greater than 50% of the number of samples.")


@pytest.mark.parametrize("warning", [UNCONVERGED, MANY], ids=["unconverged", "many classes"])
def test_they_are_ignored_inside_only(warning):
    with quiet():
        warnings.warn(warning, stacklevel=1)
    with pytest.warns(type(warning)):
        warnings.warn(warning, stacklevel=1)


def test_others_are_not_ignored():
    with quiet(), pytest.warns(UserWarning, match="something else"):
        warnings.warn(UserWarning("something else"), stacklevel=1)


def test_threads_that_overlap_do_not_undo_each_other():
    before, inside, others_left = warnings.filters[:], threading.Event(), threading.Event()
    failures = []

    def second():
        with quiet():
            inside.set()
            others_left.wait(10)
            try:
                warnings.warn(UNCONVERGED, stacklevel=1)
            except ConvergenceWarning as warning:
                failures.append(warning)

    first, thread = quiet(), threading.Thread(target=second)
    with first:
        thread.start()
        assert inside.wait(10)
    others_left.set()
    thread.join(10)
    assert not failures
    assert warnings.filters == before


def test_an_error_ends_it():
    before = warnings.filters[:]
    with pytest.raises(ZeroDivisionError), quiet():
        _ = 1 / 0
    assert warnings.filters == before
