"""yardsticks: simple models of the same rows, and columns that give the target away."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from dgtrees.estimators.yardsticks import Yardsticks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
SIDE = (X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=400) > 0).astype(int)
SEEN, NEW = slice(0, 300), slice(300, None)


def test_classes_beside_scikit_learn_itself():
    found = Yardsticks(X[SEEN], SIDE[SEEN], None, ["no", "yes"]).scores(X[NEW], SIDE[NEW])
    scaler = StandardScaler().fit(X[SEEN])
    linear = LogisticRegression(max_iter=300).fit(scaler.transform(X[SEEN]), SIDE[SEEN])
    right = linear.score(scaler.transform(X[NEW]), SIDE[NEW])
    assert found["linear"]["accuracy"] == pytest.approx(right)
    assert found["linear"]["accuracy"] > found["CART"]["accuracy"] > found["constant"]["accuracy"]
    assert found["constant"]["accuracy"] == found["linear"]["majority_accuracy"]


def test_numbers():
    target = 3.0 * X[:, 0] + RNG.normal(size=400)
    found = Yardsticks(X[SEEN], target[SEEN], None, None).scores(X[NEW], target[NEW])
    assert found["linear"]["rmse"] < found["CART"]["rmse"] < found["constant"]["rmse"]
    assert found["constant"]["r2"] <= 0.0


def test_weights_count():
    weight = np.where(SIDE == 1, 50.0, 1.0)
    plain = Yardsticks(X[SEEN], SIDE[SEEN], None, [0, 1]).scores(X[NEW], SIDE[NEW])
    heavy = Yardsticks(X[SEEN], SIDE[SEEN], weight[SEEN], [0, 1]).scores(X[NEW], SIDE[NEW])
    for name in ("linear", "CART"):  # the heavy class is predicted more often
        more, before = (np.array(s[name]["confusion"])[:, 1].sum() for s in (heavy, plain))
        assert more > before


@pytest.mark.parametrize("classes", [["no", "yes"], None])
def test_a_column_that_is_the_target_is_found(classes):
    target = SIDE if classes else X @ [1.0, 2.0, 0.5]
    leaking = np.column_stack([X, target, X[:, 2]])
    source = np.array([0, 1, 2, 3, 3])  # one column of the table became two
    simple = Yardsticks(leaking[SEEN], target[SEEN], None, classes)
    ((column, score),) = simple.giveaways(source, leaking[NEW], target[NEW])
    assert column == 3 and score > 0.995


def test_an_honest_table_has_none():
    simple = Yardsticks(X[SEEN], SIDE[SEEN], None, [0, 1])
    assert simple.giveaways(np.arange(3), X[NEW], SIDE[NEW]) == []


def test_classes_of_two_rows_each_are_compared_too():
    rows, target = np.arange(40.0).reshape(20, 2), np.arange(20) % 10
    simple = Yardsticks(rows, target, None, [f"n{k}" for k in range(10)])
    assert set(simple.scores(rows, target)) == {"linear", "CART", "constant"}
