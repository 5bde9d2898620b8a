"""Explanations: the path of one row, and contributions that add up to the prediction."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from dgtrees import (
    DGTClassifier,
    DGTContinuousBandit,
    DGTForestClassifier,
    DGTForestRegressor,
    DGTRegressor,
    ObliqueForest,
    ObliqueTree,
    contributions,
    explain,
)
from dgtrees.errors import StateError
from dgtrees.tables.encoder import Encoder, columns_of

RNG = np.random.default_rng(5)
ROWS = 240
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, ROWS).astype(float),
        "income": RNG.lognormal(10, 0.5, ROWS),
        "city": RNG.choice(["Oslo", "Rome", "Lima"], ROWS),
    }
)
TABLE.loc[::9, "age"] = np.nan
WISH = TABLE.age.fillna(40) / 20 + 2 * (TABLE.city == "Rome")
LABELS = np.where(WISH > 4.2, "buys", np.where(WISH > 3, "waits", "leaves"))
QUICK = {"max_epochs": 4, "random_state": 0}


@pytest.fixture(scope="module")
def clf():
    return DGTClassifier(3, **QUICK).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def numbers():
    X = RNG.normal(size=(150, 4))
    return X, X[:, 0] * 3 + np.where(X[:, 1] > 0, X[:, 2], -2.0)


# One row


def test_the_path_is_the_trees_own_and_its_margins_have_the_right_side(clf):
    rows = clf._rows_to_predict(TABLE)
    for i in range(0, ROWS, 17):
        found = explain(clf, TABLE.iloc[i])
        assert found.leaf == clf.apply(TABLE)[i]
        passed = clf.decision_path(TABLE)[i].indices
        assert [step.node for step in found.steps] == passed[:-1].tolist()
        for step in found.steps:
            margin = clf.tree_.weights[step.node] @ rows[i] + clf.tree_.bias[step.node]
            assert step.margin == pytest.approx(margin)
            assert step.direction == ("yes" if margin >= 0 else "no")
            length = np.linalg.norm(clf.tree_.weights[step.node] * clf.encoded_feature_scale_)
            assert step.distance == pytest.approx(abs(margin) / length)
        assert found.prediction == clf.predict(TABLE)[i]
        shares = [found.probabilities[label] for label in clf.classes_]
        np.testing.assert_allclose(shares, clf.predict_proba(TABLE)[i])


def test_reasons_are_input_columns_and_add_up_to_the_margin(clf):
    found = explain(clf, TABLE.iloc[3], background=TABLE)
    typical = clf._rows_to_predict(TABLE).mean(axis=0)
    for step in found.steps:
        pushes = [reason.push for reason in step.reasons]
        assert sorted(pushes, key=abs, reverse=True) == pushes
        assert {reason.feature for reason in step.reasons} <= set(TABLE.columns)
        start = clf.tree_.weights[step.node] @ typical + clf.tree_.bias[step.node]
        assert step.typical == pytest.approx(start)
        assert step.typical + sum(pushes) == pytest.approx(step.margin)


@pytest.mark.parametrize("row", [0, 1])  # the first has no age
def test_a_row_may_come_in_any_shape(clf, row):
    expected = explain(clf, TABLE.iloc[row])
    cells = TABLE.iloc[row]
    gap_as_none = {k: None if v != v else v for k, v in cells.items()}
    for shape in (TABLE.iloc[[row]], dict(cells), gap_as_none, cells.to_list()):
        assert explain(clf, shape) == expected


def test_names_are_looked_up_in_any_order_and_checked(clf, numbers):
    X, y = numbers
    X = X + 300.0  # no logarithms beside the columns: the tree takes the rows as they are
    reg = DGTRegressor(2, **QUICK).fit(X, y)
    cells = dict(zip(["x0", "x1", "x2", "x3"], X[3].tolist(), strict=True))
    turned = dict(reversed(cells.items()))
    for model in (reg, reg.tree_):
        expected = explain(model, X[3], background=X)
        for row in (turned, pd.Series(turned), pd.DataFrame(X).iloc[3], dict(enumerate(X[3]))):
            assert explain(model, row, background=X) == expected
    row = TABLE.iloc[1]
    assert explain(clf, row[::-1]) == explain(clf, row)
    for wrong in (row.rename({"city": "town"}), dict(row.rename({"city": "town"}))):
        with pytest.raises(ValueError, match="without 'city' and with unknown 'town'") as caught:
            explain(clf, wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="got 'age' twice"):
        explain(clf, pd.concat([row, row[["age"]]]))
    with pytest.raises(ValueError, match="must have the 3 columns of the model, got shape"):
        explain(clf, [1.0, 2.0])


def test_truths_among_objects_are_categories_as_in_predict():
    truth = RNG.choice(np.array([True, False, None], dtype=object), ROWS)
    frame = pd.DataFrame({"n": RNG.normal(size=ROWS), "z": truth})
    labels = np.where(truth == True, "a", np.where(truth == False, "b", "c"))  # noqa: E712
    model = DGTClassifier(2, **QUICK).fit(frame, labels)
    leaves = [explain(model, frame.iloc[i]).leaf for i in range(30)]
    assert leaves == model.apply(frame)[:30].tolist()
    assert len(set(leaves)) > 1


def test_a_forest_of_one_tree_answers_as_the_forest_does():
    for voting in ("hard", "soft"):
        forest = DGTForestClassifier(1, 2, voting=voting, **QUICK).fit(TABLE, LABELS)
        found = explain(forest, TABLE.iloc[1])
        expected = forest.predict_proba(TABLE.iloc[[1]])[0].tolist()
        assert found.probabilities == dict(zip(forest.classes_, expected, strict=True))
        assert found.prediction == forest.predict(TABLE.iloc[[1]])[0]


def test_text_can_be_pasted_and_dict_is_json(clf):
    found = explain(clf, TABLE.iloc[0])
    lines = str(found).splitlines()
    assert lines[0].startswith(f"prediction: {found.prediction} ({found.prediction} ")
    count = len(found.steps)
    assert count >= 2
    assert lines[1] == f"leaf {found.leaf} of {clf.tree_.n_leaves}, after {count} decisions"
    assert sum(line.startswith("node ") for line in lines) == count
    assert "age = (missing)" in str(found)
    assert "(2 more)" in found.text(max_features=1)
    assert json.loads(json.dumps(found.to_dict()))["steps"][0]["reasons"][0]["feature"]
    with pytest.raises(ValueError, match="max_features must be at least 1, got 0"):
        found.text(0)


def test_values_several_outputs_and_a_single_leaf(numbers):
    X, y = numbers
    one = explain(DGTRegressor(2, leaf="linear", **QUICK).fit(X, y), X[0])
    assert one.probabilities is None and isinstance(one.prediction, float)
    two = explain(DGTRegressor(2, **QUICK).fit(X, np.stack([y, -y], axis=1)), X[0])
    assert len(two.prediction) == 2
    leaf = ObliqueTree.complete(np.empty((0, 2)), [], [[7.0]])
    found = explain(leaf, [1.0, 2.0], background=[[0.0, 0.0]])
    assert str(found) == "prediction: 7\nleaf 0 of 1, after 0 decisions"


def test_linear_predictions_are_those_of_predict_bounds_included(numbers):
    X, y = numbers
    reg = DGTRegressor(2, leaf="linear", **QUICK).fit(X, y)
    beyond = np.abs(reg.predict(X * 100) - reg.tree_.predict(reg.model_.encode(X * 100))[:, 0])
    assert beyond.max() > 1
    far = X[beyond.argmax()] * 100
    assert explain(reg, far).prediction == reg.predict([far])[0]


def test_what_cannot_be_explained_says_so(clf, numbers):
    X, y = numbers
    forest = DGTForestRegressor(2, 2, **QUICK).fit(X, y)
    with pytest.raises(TypeError, match=r"one tree, got DGTForestRegressor of 2: use contribution"):
        explain(forest, X[0])
    with pytest.raises(ValueError, match="takes one row, got 2"):
        explain(clf, TABLE.iloc[:2])
    tree = ObliqueTree.complete([[1.0]], [0.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="give some training rows as background"):
        explain(tree, [1.0])
    with pytest.raises(StateError, match="has learnt nothing yet: call fit first"):
        explain(DGTClassifier(), [1.0])
    with pytest.raises(TypeError, match="must be an estimator, policy or tree of dgtrees, got str"):
        explain("model", [1.0])
    foreign = DecisionTreeRegressor(max_depth=1).fit(X, y)
    with pytest.raises(TypeError, match="tree of dgtrees, got DecisionTreeRegressor"):
        explain(foreign, X[0])


# Contributions


def check_sum(found, expected):
    np.testing.assert_allclose(found.predictions, expected, rtol=1e-12, atol=1e-12)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_array_equal(total, found.predictions)


WAYS = [
    {},
    {"background": TABLE},
    {"background": TABLE, "method": "sampling", "n_permutations": 5},
]


@pytest.mark.parametrize("way", WAYS, ids=["typical", "background", "sampling"])
def test_contributions_to_probabilities_add_up(clf, way):
    found = contributions(clf, TABLE, **way)
    assert found.values.shape == (ROWS, 3, 3) and found.base_values.shape == (ROWS, 3)
    assert found.output == "probability" and found.feature_names == ["age", "income", "city"]
    assert found.output_names == ["buys", "leaves", "waits"]
    check_sum(found, clf.predict_proba(TABLE))
    # Probabilities of all classes sum to 1, so what a column adds to them sums to 0.
    np.testing.assert_allclose(found.values.sum(axis=2), 0.0, atol=1e-12)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_contributions_to_scores_add_up(leaf):
    clf = DGTClassifier(2, leaf=leaf, **QUICK).fit(TABLE, LABELS)
    found = contributions(clf, TABLE, output="score")
    check_sum(found, clf.tree_.predict(clf._rows_to_predict(TABLE)))
    if leaf == "linear":
        assert contributions(clf, TABLE[:1]).output == "score"
        with pytest.raises(ValueError, match="of constant leaves only, got linear ones: use"):
            contributions(clf, TABLE, output="probability")
        sampled = contributions(
            clf, TABLE[:9], output="probability", method="sampling", background=TABLE
        )
        check_sum(sampled, clf.predict_proba(TABLE[:9]))


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_contributions_to_values_add_up_within_and_beyond_the_training_range(
    numbers, leaf, outputs
):
    X, y = numbers
    target = y if outputs == 1 else np.stack([y, -y], axis=1)
    reg = DGTRegressor(3, leaf=leaf, **QUICK).fit(X, target)
    for rows in (X, X * 30):
        found = contributions(reg, rows)
        assert found.values.ndim == outputs + 1 and found.output == "value"
        check_sum(found, reg.predict(rows))


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_contributions_of_forests_are_the_mean_of_their_trees(voting):
    forest = DGTForestClassifier(3, 2, voting=voting, **QUICK).fit(TABLE, LABELS)
    for background in (None, TABLE):  # without one, leaves weigh as in training
        found = contributions(forest, TABLE, background=background)
        check_sum(found, forest.predict_proba(TABLE))
    with pytest.raises(ValueError, match="output must be probability here, got 'score'"):
        contributions(forest, TABLE, background=TABLE, output="score")


def test_contributions_of_a_regression_forest_with_linear_leaves(numbers):
    X, y = numbers
    forest = DGTForestRegressor(2, 2, leaf="linear", **QUICK).fit(X, y)
    check_sum(contributions(forest, X * 9, background=X), forest.predict(X * 9))
    bare = contributions(forest.forest_, X * 9, background=X)
    assert np.allclose(bare.predictions, forest.predict(X * 9))
    votes = ObliqueForest(forest.forest_.trees, "vote")
    with pytest.raises(ValueError, match="constant leaves only, got linear ones"):
        contributions(votes, X, background=X)


def test_policies_are_explained_by_their_columns_and_within_their_bounds():
    frame = TABLE.loc[:, ["city", "income"]].assign(income=TABLE.income / 10_000)
    encoder = Encoder().fit(columns_of(frame))
    policy = DGTContinuousBandit(0.0, 1.0, 2, "linear", encoder=encoder, random_state=0)
    for _, x in frame.iterrows():
        offer = policy.decide(x)
        policy.learn(x, offer, (offer.action - x.income / 5) ** 2)
    far = frame.assign(income=frame.income * np.linspace(-30, 30, ROWS))
    answers = np.clip(policy.tree_.predict(encoder.expand(columns_of(far))), 0.0, 1.0)[:, 0]
    assert answers.min() == 0.0 and answers.max() == 1.0  # bounds are met
    found = contributions(policy, far, background=frame)
    assert found.feature_names == ["city", "income"]
    assert np.allclose(found.predictions, answers)
    turned = contributions(policy, far[["income", "city"]], background=frame)
    assert np.array_equal(found.values, turned.values)
    assert found.data.tolist() == turned.data.tolist()
    for i in (0, ROWS - 1):
        one = explain(policy, far.iloc[i])
        assert one.prediction == answers[i]
        assert {reason.feature for step in one.steps for reason in step.reasons} <= set(frame)


def test_a_column_without_weight_contributes_nothing():
    tree = ObliqueTree.complete(
        [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], [0.0, 1.0, 1.0], [[1.0], [2.0], [3.0], [4.0]]
    )
    X = RNG.normal(size=(50, 2))
    for method in ("path", "sampling"):
        found = contributions(tree, X, background=X, method=method, n_permutations=3)
        np.testing.assert_array_equal(found.values[:, 1], 0.0)
        check_sum(found, tree.predict(X)[:, 0])


def test_only_columns_that_pushed_that_way_share_a_step():
    tree = ObliqueTree.complete([[1.0, 1.0, 1.0]], [0.0], [[0.0], [1.0]])
    background = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    found = contributions(tree, [[3.0, 1.0, -2.0]], background=background)
    np.testing.assert_allclose(found.values, [[0.375, 0.125, 0.0]])


def test_where_no_column_pushed_that_way_weights_share():
    tree = ObliqueTree.complete([[1.0, 3.0]], [1.0], [[0.0], [1.0]])
    found = contributions(tree, [[0.0, 0.0]], background=[[0.0, 0.0], [0.0, 0.0]])
    assert found.base_values[0] == 1.0  # all of the background goes the same way
    tree = tree.with_leaves([[0.0], [1.0]])
    found = contributions(tree, [[0.0, -1.0]], background=[[2.0, -2.0], [-2.0, 2.0]])
    np.testing.assert_allclose(found.values, [[0.0, -0.5]])
    found = contributions(tree, [[0.0, 0.0]], background=[[2.0, -2.0], [-2.0, 2.0]])
    np.testing.assert_allclose(found.values, [[0.125, 0.375]])


def test_a_decision_by_bias_alone_is_shared_equally():
    tree = ObliqueTree.complete([[0.0, 0.0]], [1.0], [[0.0], [1.0]])
    found = contributions(tree, [[5.0, 5.0]], background=[[0.0, 0.0]])
    check_sum(found, [1.0])
    np.testing.assert_array_equal(found.values, [[0.0, 0.0]])


def test_sampling_finds_exact_shapley_values_of_two_columns():
    tree = ObliqueTree.complete([[1.0, 1.0]], [-1.5], [[0.0], [1.0]])  # and
    found = contributions(
        tree, [[1.0, 1.0]], background=[[0.0, 0.0]], method="sampling", n_permutations=400
    )
    np.testing.assert_allclose(found.values, [[0.5, 0.5]], atol=0.08)
    same = contributions(
        tree, [[1.0, 1.0]], background=[[0.0, 0.0]], method="sampling", n_permutations=400
    )
    np.testing.assert_array_equal(found.values, same.values)


def test_paths_agree_with_shapley_values_for_the_most_part(numbers):
    X, y = numbers
    reg = DGTRegressor(3, max_epochs=30, random_state=0).fit(X, y)
    path = contributions(reg, X[:20], background=X)
    shapley = contributions(reg, X[:20], background=X, method="sampling", n_permutations=200)
    assert np.corrcoef(path.values.ravel(), shapley.values.ravel())[0, 1] > 0.8


def test_models_that_never_counted_their_rows_ask_for_a_background(numbers):
    X, y = numbers
    reg = DGTRegressor(2, **QUICK).partial_fit(X, y)
    with pytest.raises(ValueError, match="how many training rows came to each leaf"):
        contributions(reg, X)
    check_sum(contributions(reg, X, background=X), reg.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exact"}, "method must be one of path, sampling, got 'exact'"),
        ({"output": "logit"}, "output must be probability or score here, got 'logit'"),
        ({"method": "sampling"}, "compares with background rows, got none: give"),
        (
            {"method": "sampling", "background": TABLE, "n_permutations": 0},
            "n_permutations must be at least 1, got 0",
        ),
    ],
)
def test_wrong_options_are_refused(clf, options, message):
    with pytest.raises(ValueError, match=message):
        contributions(clf, TABLE, **options)


@pytest.mark.filterwarnings("ignore")  # of shap and its own dependencies
def test_shap_draws_them(clf, numbers):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import shap

    explanation = contributions(clf, TABLE).to_shap()
    assert isinstance(explanation, shap.Explanation)
    assert explanation.shape == (ROWS, 3, 3)
    shap.plots.waterfall(explanation[0, :, 1], show=False)
    shap.plots.bar(explanation[:, :, "buys"], show=False)
    plt.close("all")
    X, y = numbers
    explanation = contributions(DGTRegressor(2, **QUICK).fit(X, y), X).to_shap()
    shap.plots.beeswarm(explanation, show=False)
    shap.plots.scatter(explanation[:, 0], show=False)
    plt.close("all")
