import matplotlib as mpl
import numpy as np
import pytest

from dgtrees.model.plot import plot_history, plot_tree
from dgtrees.model.text import tree_text
from dgtrees.tree import ObliqueTree

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def tree(height=2, d=4, outputs=2):
    rng = np.random.default_rng(0)
    return ObliqueTree.complete(
        rng.normal(size=(2**height - 1, d)),
        rng.normal(size=2**height - 1),
        np.log(rng.dirichlet(np.ones(outputs), size=2**height)),
    )


def test_text_names_every_leaf_and_the_largest_weights():
    text = tree_text(tree(), ["a", "b", "c", "d"], ["cat", "dog"], max_weights=2)
    assert text.count(">= 0?") == 3
    assert text.count("%") >= 4
    assert "(2 more)" in text
    assert tree_text(tree(height=0)).count("\n") == 0


def words(ax):
    """Everything written in an Axes and the small ones inside it."""
    texts = [t.get_text() for t in ax.texts]
    return texts + [t.get_text() for child in ax.child_axes for t in child.texts]


def test_picture_shows_decisions_and_leaves():
    ax = plot_tree(tree(), ["a", "b", "c", "d"], ["cat", "dog"])
    assert len(ax.child_axes) == 3
    assert sum("%" in word for word in words(ax)) == 4
    assert {"a", "b", "c", "d"} <= set(words(ax))


def test_picture_stops_at_max_depth():
    ax = plot_tree(tree(height=5), max_depth=2)
    assert len(ax.child_axes) == 3
    assert sum("8 leaves" in word for word in words(ax)) == 4


def test_weights_as_images():
    ax = plot_tree(tree(), image_shape=(2, 2), feature_scale=np.arange(1.0, 5.0))
    image = ax.child_axes[0].images[0].get_array()
    np.testing.assert_allclose(image.ravel(), tree().weights[0] * [1, 2, 3, 4])


@pytest.mark.parametrize("score", [None, "val_accuracy", "val_rmse"])
def test_history(score):
    history = {"loss": [3.0, 2.0, 1.0]}
    if score:
        history |= {"val_loss": [3.0, 2.5, 2.6], score: [0.5, 0.6, 0.7]}
    ax = plot_history(history)
    labels = [t.get_text() for t in ax.figure.legends[0].get_texts()]
    assert len(labels) == (3 if score else 1)
