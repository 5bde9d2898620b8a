"""Compiled functions that are called by a symbol: in this process, and from code that was kept."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dgtrees.tree.apart import needed
from dgtrees.tree.compiled import njit

CALLS = """
import numpy as np
from dgtrees import ObliqueTree
from dgtrees.tree import routing
from dgtrees.tree.compiled import COUNTS

tree = ObliqueTree.complete([[1.0]], [0.0], [[3.0], [5.0]])
print(tree.predict(np.array([[2.0], [-2.0]])).ravel(), COUNTS["compiled"])
"""


@njit(apart=True)
def halve(values, at):
    if values[at] < 0:
        raise ValueError("no negative numbers")
    return values[at] / 2


@njit()
def one_caller(values):
    return halve(values, 0) + 1


@njit()
def other_caller(values):
    return halve(values, 1) + halve(values, 0)


def test_callers_name_the_function_and_do_not_contain_it():
    values = np.array([3.0, 5.0])
    assert (one_caller(values), other_caller(values), halve(values, 1)) == (2.5, 4.0, 2.5)
    for caller in (one_caller, other_caller):
        (code,) = caller.overloads.values()
        assert len(needed(code)) == 1
    (code,) = halve.overloads.values()
    assert needed(code) == []


def test_types_are_told_apart():
    single = one_caller(np.array([1], dtype=np.float32))
    assert single == 1.5 and one_caller(np.array([1])) == 1.5


def test_errors_pass_through():
    with pytest.raises(ValueError, match="no negative numbers"):
        one_caller(np.array([-1.0]))


@pytest.mark.parametrize("lost", [False, True])
def test_code_that_was_kept_finds_what_it_calls_even_where_that_is_lost(tmp_path, lost):
    def run():
        variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", CALLS]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer, compiled = done.stdout.rsplit(maxsplit=1)
        assert answer == "[5. 3.]"
        return int(compiled)

    assert run() > 0
    kept = list(Path(tmp_path).rglob("routing._rows_through_tree*"))
    assert kept
    if lost:
        for path in kept:
            path.unlink()
    assert (run() > 0) == lost
