"""Rows that show what decisions look at."""

import matplotlib as mpl
import numpy as np
import pytest

from dgtrees.model.plot import plot_node_examples
from dgtrees.tree.oblique import ObliqueTree

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def tree():
    """Node 0 asks whether x0 >= 0, node 1, on its left, whether x1 >= 0, node 2 whether x1 >= 5."""
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    return ObliqueTree.complete(weights, np.array([0.0, 0.0, -5.0]), np.zeros((4, 1)))


def drawn(ax, each):
    """The number in every image, none where there is no image, per node and side."""
    strips = [np.asarray(side.images[0].get_array()) for side in ax.child_axes]
    found = [np.where(np.ma.getmaskarray(s) | np.isnan(s), np.nan, s)[0] for s in strips]
    sides = [row.reshape(each, -1)[:, 0] for row in found]
    return [[int(v) for v in side if not np.isnan(v)] for side in sides]


def test_lines_are_nodes_and_images_lie_in_the_order_of_their_margins():
    x0 = np.array([3.0, -1.0, -4.0, 2.0, -2.0, 0.0, -3.0])
    X = np.column_stack([x0, -x0])
    images = np.arange(7.0)[:, None, None] * np.ones((7, 4, 3))  # image i is grey i
    ax = plot_node_examples(tree(), X, images, each=3)
    assert drawn(ax, 3) == [
        [2, 4, 1], [5, 3, 0],  # of the four on the left, the two ends and one between
        [], [1, 6, 2],  # all of them have a positive x1
        [0, 3, 5], [],
    ]  # fmt: skip
    said = [text.get_text() for text in ax.texts]
    assert said == ["no", "yes", "0\n4 | 3", "1\n0 | 4", "2\n3 | 0"]
    assert len(plot_node_examples(tree(), X, images, max_depth=1).child_axes) == 2


def test_what_does_not_fit_is_refused():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"images must have shape \(3, height, width\)"):
        plot_node_examples(tree(), X, np.zeros((2, 4, 4)))
    with pytest.raises(ValueError, match="each must be at least 1, got 0"):
        plot_node_examples(tree(), X, np.zeros((3, 4, 4)), each=0)
    leaf = ObliqueTree.complete(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="one leaf and decides nothing"):
        plot_node_examples(leaf, X, np.zeros((3, 4, 4)))
