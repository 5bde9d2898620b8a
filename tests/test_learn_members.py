"""Trees for a forest."""

import numpy as np
import pytest

from dgtrees.learn.members import MemberPlan, MemberRows, draw, grow_member
from dgtrees.tables.examples import Examples

RNG = np.random.default_rng(1)
X = np.column_stack([RNG.normal(size=(200, 3)) * [1, 50, 0.01] + [0, 1000, 0], np.full(200, 3.0)])
Y = (X[:, 0] + (X[:, 1] - 1000) / 50)[:, None] * 10 + 500
LABEL = (Y[:, 0] > 500).astype(np.int64)


def rows(emphasis=None, weight=None, classes=0):
    weight = np.ones(200) if weight is None else weight
    return MemberRows(Examples(X, LABEL if classes else Y, weight), emphasis, classes)


@pytest.mark.parametrize("plan", [MemberPlan(3), MemberPlan(2, 4, 3), MemberPlan(4, 0, 2, 5)])
def test_a_member_knows_the_rows_it_drew_in_their_own_units(plan):
    own = rows()
    member = grow_member(own, plan, 1.0, None, 7)
    drawn = draw(own, 1.0, 7) > 0
    said = member.tree.predict(X)[:, 0]
    assert np.corrcoef(said[drawn], Y[drawn, 0])[0, 1] > 0.95
    if plan.min_rows == 1:
        assert np.allclose(said[drawn], Y[drawn, 0])
    assert member.linear is None
    assert member.importance.sum() == pytest.approx(1) and member.importance[3] == 0
    assert (member.tree.weights[:, 3] == 0).all()  # a column that never varied


def test_beside_a_linear_function_a_tree_has_little_left_to_say():
    member = grow_member(rows(), MemberPlan(2, penalty=0.1), 1.0, None, 7)
    assert np.allclose(member.linear.predict(X), Y, atol=2.0)
    assert np.abs(member.tree.leaf_values).max() < 5
    assert member.importance[:2].min() > 0.2


def test_classes_are_log_shares_and_leaves_may_be_few():
    member = grow_member(rows(classes=2), MemberPlan(2, 2, 2), 1.0, 6, 3)
    assert member.tree.n_leaves <= 6 and (member.tree.leaf_values <= 0).all()
    guess = member.tree.predict(X).argmax(axis=1)
    assert np.mean(guess == LABEL) > 0.85


def test_what_is_drawn():
    weight = np.where(np.arange(200) < 100, 1.0, 0.002)
    everything = draw(rows(weight=weight), None, 0)
    assert np.allclose(everything / everything[0], weight) and everything.mean() >= 1
    some = draw(rows(emphasis=np.where(np.arange(200) < 50, 3.0, 1.0)), 0.5, 0)
    assert (some[:50] % 3 == 0).all() and 60 < (some > 0).sum() < 100
    with pytest.raises(ValueError, match="class weight 0"):
        draw(rows(emphasis=np.zeros(200)), 1.0, 0)


def test_plans_say_what_they_are():
    assert str(MemberPlan(1)) == "the best of 1 column per node, leaves of 1+ rows"
    said = str(MemberPlan(3, 4, 5, 10, 0.1))
    assert "3 columns and 4 directions of 2 to 5 columns per node" in said
    assert "leaves of 10+ rows, beside a linear function (penalty 0.1)" in said
