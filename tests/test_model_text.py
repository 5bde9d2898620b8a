"""Trees as text."""

from dgtrees.model.text import tree_text
from dgtrees.tree.oblique import ObliqueTree


def test_large_values_are_written_out():
    tree = ObliqueTree.complete([[1.0]], [0.0], [[28_012.3], [3.1e12]])
    text = tree_text(tree, ["x"])
    assert "28000" in text and "3.1e+12" in text
