"""Trees as text."""

from dgtrees.model.text import tree_text
from dgtrees.tree.oblique import ObliqueTree


def test_large_values_are_written_out():
    tree = ObliqueTree.complete([[1.0]], [0.0], [[28_012.3], [3.1e12]])
    text = tree_text(tree, ["x"])
    assert "28000" in text and "3.1e+12" in text


def test_names_keep_to_their_line_and_zero_has_no_sign():
    tree = ObliqueTree.complete([[1.0]], [-0.0], [[1.0, 0.0], [0.0, 1.0]])
    text = tree_text(tree, ["a\nb"], ["no\nway", "yes"])
    assert text.splitlines()[0] == "1 a b + 0 >= 0?" and "no way 73%" in text
