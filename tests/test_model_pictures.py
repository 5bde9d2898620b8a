"""Pictures: what is drawn, and that it can be read."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTClassifier, DGTForestClassifier, DGTRegressor, contributions, plot_tree
from dgtrees.bandit.curve import Curve
from dgtrees.model.plot import (
    plot_contributions,
    plot_curves,
    plot_history,
    plot_node_images,
    plot_story,
)
from dgtrees.model.text import tree_text
from dgtrees.tree import ObliqueTree

mpl.use("Agg")
RNG = np.random.default_rng(1)
POINTS = RNG.normal(size=(120, 2))
SIDES = np.where(POINTS[:, 0] + POINTS[:, 1] > 0, "above", "below")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clf():
    return DGTClassifier(2, max_epochs=4, random_state=0).fit(POINTS, SIDES)


def tree(height=2, d=4, outputs=2):
    rng = np.random.default_rng(0)
    return ObliqueTree.complete(
        rng.normal(size=(2**height - 1, d)),
        rng.normal(size=2**height - 1),
        np.log(rng.dirichlet(np.ones(outputs), size=2**height)),
    )


def words(ax, kind=""):
    """Everything written in an Axes, or only what is of one kind."""
    return [t.get_text() for t in ax.texts if (t.get_gid() or "").startswith(kind)]


def boxes(ax):
    return [p.get_gid() for p in ax.patches if (p.get_gid() or "").startswith("node ")]


def overlapping(ax):
    """Pairs of texts that cover each other, by what they say."""
    ax.figure.canvas.draw()
    texts = [t for t in ax.texts if t.get_text()]
    x0, y0, x1, y1 = np.array([t.get_window_extent().padded(-0.5).extents for t in texts]).T
    beside = (x1[:, None] <= x0) | (x1 <= x0[:, None]) | (y1[:, None] <= y0) | (y1 <= y0[:, None])
    pairs = np.argwhere(np.triu(~beside, 1))
    return [(texts[i].get_text(), texts[j].get_text()) for i, j in pairs]


def test_text_names_every_leaf_and_the_largest_weights():
    text = tree_text(tree(), ["a", "b", "c", "d"], ["cat", "dog"], max_weights=2)
    assert text.count(">= 0?") == 3
    assert text.count("%") >= 4
    assert "(2 more)" in text
    assert tree_text(tree(height=0)).count("\n") == 0


# The tree


def test_a_drawn_tree_has_all_nodes_and_leaves_and_the_largest_weights():
    drawn = tree()
    ax = plot_tree(drawn, feature_names=["a", "b", "c", "d"], class_names=["cat", "dog"])
    assert boxes(ax) == ["node 0", "node 1", "node 2"]
    assert len(words(ax, "leaf ")) == 4
    assert all("%" in word for word in words(ax, "leaf "))
    largest = ["abcd"[np.abs(drawn.weights[n]).argmax()] for n in range(3)]
    assert words(ax, "feature")[::3] == largest


def test_an_estimator_brings_its_names_classes_and_rows(clf):
    ax = plot_tree(clf)
    assert set(words(ax, "feature")) <= {"x0", "x1"}
    assert set(words(ax, "legend")) == {"above", "below"}
    assert sum(int(word) for word in words(ax, "rows")) == round(clf.leaf_rows_.sum())


@pytest.mark.parametrize("outputs", [2, 12])
def test_64_leaves_are_drawn_without_any_overlap(outputs):
    names = [f"a rather long feature name {j}" for j in range(30)]
    classes = [f"class number {k}" for k in range(outputs)]
    ax = plot_tree(
        tree(height=6, d=30, outputs=outputs),
        feature_names=names,
        class_names=classes,
        leaf_rows=RNG.integers(0, 99_999, 64),
    )
    assert len(boxes(ax)) == 63
    assert len(words(ax, "leaf ")) == 64
    assert overlapping(ax) == []
    inside = ax.figure.bbox.padded(1)
    assert all(inside.containsx(t.get_window_extent().x1) for t in ax.texts)
    smallest = min(t.get_fontsize() for t in ax.texts)
    assert smallest >= 5.5
    assert ax.figure.get_figwidth() <= 9.01  # a page's width


def test_text_stays_inside_its_box():
    ax = plot_tree(tree(height=6, d=9), feature_names=["a very long name indeed " * 2] * 9)
    ax.figure.canvas.draw()
    frames = [p.get_window_extent() for p in ax.patches if (p.get_gid() or "").startswith("node")]
    for text in (t for t in ax.texts if t.get_gid() == "feature"):
        inner = text.get_window_extent()
        assert any(f.x0 <= inner.x0 and inner.x1 <= f.x1 + 1 and f.y0 <= inner.y0 for f in frames)


def test_long_names_keep_the_end_that_tells_them_apart():
    names = [f"the measurement of the sensor number {j}" for j in range(4)]
    shown = set(words(plot_tree(tree(height=6), feature_names=names), "feature"))
    assert {name[-1] for name in shown} == set("0123")
    assert all(name.startswith("the") and "…" in name for name in shown)


def test_deeper_trees_are_cut_and_the_picture_says_so():
    ax = plot_tree(tree(height=8))
    assert len(boxes(ax)) == 63
    assert words(ax, "leaf ") == []
    assert all("4 leaves" in word for word in words(ax, "cut "))
    assert "cut at depth 6 of 8: 256 leaves below are drawn as 64 lines" in words(ax, "cut")
    assert overlapping(ax) == []
    ax = plot_tree(tree(height=5), max_depth=2)
    assert len(boxes(ax)) == 3
    assert sum("8 leaves" in word for word in words(ax)) == 4
    assert len(boxes(plot_tree(tree(height=7), max_depth=7))) == 127


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_single_leaves_and_pruned_trees(outputs):
    ax = plot_tree(tree(height=0, outputs=outputs))
    assert boxes(ax) == [] and len(words(ax, "leaf ")) == 1
    pruned = tree(height=5, outputs=outputs).prune(np.random.default_rng(0).normal(size=(25, 4)))
    ax = plot_tree(pruned)
    assert len(boxes(ax)) == pruned.n_nodes < 31
    assert len(words(ax, "leaf ")) == pruned.n_leaves
    assert overlapping(ax) == []


def test_a_decision_without_weights_and_names_that_look_like_mathematics():
    flat = ObliqueTree.complete([[0.0]], [1.0], [[0.0], [1.0]])
    assert "always the same" in words(plot_tree(flat))
    ax = plot_tree(tree(d=2), feature_names=["price $", "$_{x"])
    ax.figure.canvas.draw()


def test_linear_leaves_are_shown_at_the_typical_row():
    y = POINTS[:, 0] * 2
    reg = DGTRegressor(1, leaf="linear", max_epochs=4, random_state=0).fit(POINTS, y)
    ax = plot_tree(reg)
    assert any("linear leaves, at the typical row" in word for word in words(ax))
    assert overlapping(ax) == []


def test_a_tree_in_given_axes_shrinks_as_a_whole():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(8, 3))
    ax = plot_tree(tree(height=4), ax=axes[1])
    assert ax is axes[1]
    assert overlapping(ax) == []
    assert max(t.get_fontsize() for t in ax.texts) < 7


def test_unfilled_trees_have_no_colours_of_classes(clf):
    assert words(plot_tree(clf, filled=False), "legend") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["a"]}, "must name the 4 columns, or all 4 encoded ones, got 1 names"),
        ({"class_names": ["a"]}, "must name the 2 outputs of the model, got 1 names"),
        ({"max_depth": -1}, "max_depth must be at least 0, got -1"),
        ({"max_features": 0}, "max_features must be at least 1, got 0"),
        ({"class_names": ["a"], "filled": False}, "must name the 2 outputs of the model"),
        ({"feature_scale": [1.0]}, r"feature_scale must be 4 numbers.*, got shape \(1,\)"),
        ({"leaf_rows": [1.0] * 5}, r"leaf_rows must be 4 numbers.*, got shape \(5,\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plot_tree(tree(), **options)
    assert plt.get_fignums() == []


def test_a_forest_is_not_one_tree():
    forest = DGTForestClassifier(2, 1, max_epochs=1, random_state=0).fit(POINTS, SIDES)
    with pytest.raises(TypeError, match=r"one tree, got DGTForestClassifier of 2"):
        plot_tree(forest)
    assert boxes(plot_tree(forest.forest_.trees[0])) == ["node 0"]


# Images


def test_weights_are_drawn_as_images_in_the_shape_of_the_tree():
    ax = plot_node_images(tree(), feature_scale=np.arange(1.0, 5.0))
    assert len(ax.child_axes) == 3
    first = ax.child_axes[0].images[0]
    np.testing.assert_allclose(first.get_array().ravel(), tree().weights[0] * [1, 2, 3, 4])
    low, high = first.get_clim()
    assert low == -high
    assert len(words(ax, "below")) == 4
    assert overlapping(ax) == []


def test_chosen_nodes_other_shapes_and_missing_pixels():
    ax = plot_node_images(tree(height=3, d=6), (2, 3), nodes=[5, 0])
    assert words(ax) == ["node 5", "node 0"]
    ax = plot_node_images(tree(), (3, 3), pixels=[0, 2, 4, 8])
    image = ax.child_axes[0].images[0].get_array().ravel()
    np.testing.assert_allclose(image[[0, 2, 4, 8]], tree().weights[0])
    assert image[1] == 0


def test_images_of_single_leaves_pruned_trees_and_classes(clf):
    assert "one leaf" in words(plot_node_images(tree(height=0)))[0]
    pruned = tree(height=3).prune(np.zeros((1, 4)))
    assert len(plot_node_images(pruned).child_axes) == pruned.n_nodes
    ax = plot_node_images(clf, (1, 2), max_depth=1)
    assert len(ax.child_axes) == 1 and "%" in words(ax, "below")[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"6 columns make no square image: give shape=\(rows, columns\)"),
        ({"shape": (2, 2)}, "has 4 pixels and the tree has 6 columns: give another shape"),
        ({"shape": (3, 3), "pixels": [0, 1]}, "pixels must be 6 different positions"),
        ({"shape": (3, 3), "pixels": [0, 1, 2, 3, 4, 9]}, "between 0 and 8, got 0 to 9"),
        ({"shape": (2, 3), "nodes": [7]}, "nodes must be some of 0 to 2, got 7"),
        ({"shape": (2, 3), "max_depth": 0}, "max_depth must be at least 1, got 0"),
        ({"shape": (2, 3), "feature_scale": [1.0]}, "feature_scale must be 6 numbers"),
    ],
)
def test_images_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plot_node_images(tree(d=6), **options)
    assert plt.get_fignums() == []


def test_a_single_leaf_has_no_nodes_to_choose():
    with pytest.raises(ValueError, match=r"one leaf and has no nodes, got nodes=\[0\]"):
        plot_node_images(tree(height=0), nodes=[0])


# Contributions


def test_dollars_in_names_are_no_mathematics():
    frame = pd.DataFrame(POINTS, columns=["US$ or $x", "$\\bad{$"])
    sides = np.where(POINTS[:, 0] > 0, "$\\up{$", "$down$")
    model = DGTClassifier(1, max_epochs=1, random_state=0).fit(frame, sides)
    plot_contributions(contributions(model, frame)).figure.canvas.draw()


def test_labels_are_looked_up_before_they_are_numbers():
    for labels in (np.array([1, 2]), np.array([False, True]), np.array([1, 0])):
        y = labels[(POINTS[:, 0] > 0).astype(int)]
        found = contributions(DGTClassifier(1, max_epochs=1, random_state=0).fit(POINTS, y), POINTS)
        for label in labels.tolist():
            assert f"probability of {label}" in plot_contributions(found, 0, label).get_xlabel()
    with pytest.raises(ValueError, match="output must be one of 0, 1, got True"):
        plot_contributions(found, 0, True)


# Curves


@pytest.mark.parametrize("score", [None, "val_accuracy", "val_rmse"])
def test_history(score):
    history = {"loss": [3.0, 2.0, 1.0]}
    if score:
        history |= {"val_loss": [3.0, 2.5, 2.6], score: [0.5, 0.7, 0.6]}
    ax = plot_history(history)
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert len(labels) == (4 if score else 1)
    if score:
        assert ax.lines[-1].get_xdata()[0] == (2 if score == "val_accuracy" else 1)


def test_history_of_a_model_and_of_nothing(clf):
    assert len(plot_history(clf).lines[0].get_xdata()) == 4
    with pytest.raises(ValueError, match="DGTClassifier has no history of training: fit it first"):
        plot_history(DGTClassifier())
    forest = DGTForestClassifier(1, 1, max_epochs=1, random_state=0).fit(POINTS, SIDES)
    with pytest.raises(TypeError, match="one tree, got DGTForestClassifier: forests keep no"):
        plot_history(forest)


def test_curves_of_several_policies_in_one_picture():
    tree_curve = Curve([10, 20], [0.4, 0.5], [0.5, 0.6])
    linear = Curve([10, 20], [0.3, 0.4])
    ax = plot_curves({"tree": tree_curve, "linear": linear})
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == ["tree: held-out rows", "tree: while learning", "linear: while learning"]
    assert len({line.get_color() for line in ax.lines}) == 2
    assert plot_curves(linear).get_ylabel() == "accuracy"
    assert len(plot_curves([linear, linear]).lines) == 2
    with pytest.raises(ValueError, match="all be of accuracy or all of loss, got both"):
        plot_curves([linear, Curve([1], [2.0], accuracy=False)])
    with pytest.raises(ValueError, match="at least one curve, got none"):
        plot_curves([])


# Contributions


def test_contributions_as_bars(clf):
    found = contributions(clf, POINTS)
    ax = plot_contributions(found, 3)
    likely = found.predictions[3].argmax()
    widths = sorted((bar.get_width() for bar in ax.patches), key=abs, reverse=True)
    np.testing.assert_allclose(widths, sorted(found.values[3, :, likely], key=abs, reverse=True))
    assert f"probability of {clf.classes_[likely]}" in ax.get_xlabel()
    assert "above" in plot_contributions(found, 0, "above").get_xlabel()
    assert "1 more" in [
        t.get_text() for t in plot_contributions(found, max_features=1).get_yticklabels()
    ]
    with pytest.raises(ValueError, match="output must be one of above, below, got 'left'"):
        plot_contributions(found, 0, "left")
    with pytest.raises(ValueError, match="one of the 120 rows explained, got 120"):
        plot_contributions(found, 120)
    with pytest.raises(ValueError, match="max_features must be at least 1, got 0"):
        plot_contributions(found, max_features=0)


def test_leaves_without_training_rows_are_left_out_and_counted():
    drawn, rows = tree(), [5, 0, 3, 2]
    ax = plot_tree(drawn, leaf_rows=rows)
    assert boxes(ax) == ["node 0", "node 2"] and len(words(ax, "leaf ")) == 3
    assert words(ax, "cut") == ["leaves that no training row reaches, not drawn: 1"]
    assert not overlapping(ax)
    everything = plot_tree(drawn, leaf_rows=rows, show_empty=True)
    assert len(words(everything, "leaf ")) == 4 and not words(everything, "cut")


def test_a_story_has_the_score_the_size_and_the_tree(clf):
    figure = plot_story(clf, POINTS, SIDES, title="Above or below?")
    said = [text.get_text() for text in figure.texts]
    right = np.mean(clf.predict(POINTS) == SIDES)
    assert said[:3] == ["Above or below?", f"{right:.1%}", "of 120 new rows right"]
    assert said[3] == str(clf.get_n_leaves()) and boxes(figure.axes[0])
    reg = DGTRegressor(1, max_epochs=2, random_state=0).fit(POINTS, POINTS[:, 0])
    said = [text.get_text() for text in plot_story(reg, POINTS, POINTS[:, 0]).texts]
    assert said[0] == "DGTRegressor" and said[1] == f"{reg.score(POINTS, POINTS[:, 0]):.2f}"
    with pytest.raises(ValueError, match="X and y must be equally many rows"):
        plot_story(clf, POINTS, SIDES[:5])
