"""Trees as text."""

import numpy as np

from dgtrees.model.text import tree_text
from dgtrees.tables.bending import bend
from dgtrees.tables.encoding import Column
from dgtrees.tree.oblique import ObliqueTree


def test_large_values_are_written_out():
    tree = ObliqueTree.complete([[1.0]], [0.0], [[28_012.3], [3.1e12]])
    text = tree_text(tree, ["x"])
    assert "28000" in text and "3.1e+12" in text


def test_names_keep_to_their_line_and_zero_has_no_sign():
    tree = ObliqueTree.complete([[1.0]], [-0.0], [[1.0, 0.0], [0.0, 1.0]])
    text = tree_text(tree, ["a\nb"], ["no\nway", "yes"])
    assert text.splitlines()[0] == "1 a b + 0 >= 0?" and "no way 73%" in text


def test_a_bent_column_that_decides_alone_has_a_threshold_of_its_own_units():
    column = Column("income", bent=(10.0, 5.0))
    at = float(bend(np.array(40.0), 10.0, 5.0))
    tree = ObliqueTree.complete(
        [[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [-2 * at, 3.0, at], np.eye(4)
    )
    names, told = ["log(income)", "age"], {"bent": {0: column}}
    text = tree_text(tree, names, **told).splitlines()
    assert text[0] == "1 income - 40 >= 0?"
    assert text[1].endswith("1 age + 3 >= 0?")
    assert text[4].endswith("-1 income + 40 >= 0?")
    beside = {"bent": {1: Column("income", bent=(10.0, 5.0), beside=True)}}
    swapped = ObliqueTree.complete([[0.0, 2.0], [1.0, 0.0], [1.0, 1.0]], [-2 * at, 3, 0], np.eye(4))
    lines = tree_text(swapped, ["income", "log(income)"], **beside).splitlines()
    assert lines[0] == "1 income - 40 >= 0?" and lines[1].endswith("1 income + 3 >= 0?")
    assert lines[4].endswith("1 income + 1 log(income) + 0 >= 0?")
    both = ObliqueTree.complete([[2.0, 1.0]], [0.5], [[0.0], [1.0]])
    assert tree_text(both, names, **told).startswith("2 log(income) + 1 age + 0.5")
    assert tree_text(tree, ["mine", "age"], **told).startswith("1 mine - 40")
