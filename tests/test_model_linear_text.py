"""Linear leaves, and models of one leaf, as text."""

import numpy as np
import pytest
from typer.testing import CliRunner

from dgtrees import DGTClassifier, DGTRegressor, explain
from dgtrees.cli.app import app
from dgtrees.model.model import model_of
from dgtrees.model.summary import summary_lines
from dgtrees.model.text import tree_text
from dgtrees.tree.oblique import ObliqueTree

SPLIT = [[1.0, 0.0]], [-1.0]


def test_a_leaf_for_one_number_is_its_formula():
    slopes = np.array([[[2.0, 0.0]], [[0.0, -3.0]]])
    lines = tree_text(ObliqueTree.complete(*SPLIT, [[1.0], [5.0]], slopes), ["a", "b"]).splitlines()
    assert lines[1:] == ["  no:  2 a + 1", "  yes: -3 b + 5"]


def test_two_classes_have_their_log_odds_and_the_answer_for_a_typical_row():
    slopes = np.array([[[1.0, 0.0], [3.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]]])
    tree = ObliqueTree.complete(*SPLIT, [[0.0, 1.0], [0.0, 0.0]], slopes)
    lines = tree_text(tree, ["a", "b"], ["dog", "cat"], typical=np.array([50.0, -50.0]))
    assert lines.splitlines()[1:] == [
        "  no:  cat 100% for a typical row",
        "         log-odds of cat: 2 a + 1",
        "  yes: dog 100% for a typical row",
        "         log-odds of cat: 4 b + 0",
    ]


def test_a_function_that_all_leaves_share_is_shown_once():
    slopes = np.full((2, 1, 2), 2.0)
    lines = tree_text(ObliqueTree.complete(*SPLIT, [[1.0], [5.0]], slopes), ["a", "b"]).splitlines()
    assert lines[1:3] == ["  no:  1", "  yes: 5"]
    assert "for x = 0" in lines[4] and lines[5:] == ["  value: 2 a + 2 b"]


def test_many_classes_are_cut_short():
    tree = ObliqueTree.complete(np.empty((0, 1)), [], np.zeros((1, 6)), np.ones((1, 6, 1)))
    text = tree_text(tree, ["a"], list("uvwxyz"))
    assert text.count("score of") == 4 and text.endswith("(2 more)")


@pytest.mark.parametrize("estimator", [DGTRegressor, DGTClassifier])
def test_a_model_of_one_leaf_says_that_it_is_linear(estimator, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = estimator(max_depth=0, leaf="linear", max_epochs=2, random_state=0)
    model.fit(X, (X[:, 0] > 0).astype(float))
    said = summary_lines(model_of(model))
    assert len(said) == 2  # no importances of splits that are not there
    assert "no questions: a linear model, one formula for every row" in said[1]
    assert "x0" in model_of(model)._repr_html_()
    path = tmp_path / "m.dgt"
    model.save(path)
    shown = CliRunner().invoke(app, ["show", str(path)]).stdout
    assert "no questions" in shown and " x0 " in shown and "(60 rows)" in shown


def test_a_leaf_alone_that_is_constant_says_so():
    tree = ObliqueTree.complete(np.empty((0, 2)), [], [[3.0]])
    assert "no questions: one constant answer for every row" in summary_lines(model_of(tree))[1]


def test_an_explanation_points_to_what_a_linear_leaf_adds():
    slopes = np.array([[[2.0, 0.0]], [[0.0, -3.0]]])
    linear = ObliqueTree.complete(*SPLIT, [[1.0], [5.0]], slopes)
    constant = ObliqueTree.complete(*SPLIT, [[1.0], [5.0]])
    row, known = [3.0, 1.0], np.zeros((1, 2))
    assert "contributions()" in str(explain(linear, row, background=known)).splitlines()[2]
    assert "about" not in explain(constant, row, background=known).to_dict()
