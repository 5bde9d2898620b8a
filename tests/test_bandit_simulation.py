"""Labelled data as a stream."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.bandit import Greedy, simulate
from dgtrees.tables.encoder import Encoder, columns_of

mpl.use("Agg")
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
VALUES = 2.0 + (X[:, 0] > 0)
LAST = X[800:]


def perfect(X):
    return np.array(["no", "yes"])[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_curve_of_labels():
    policy = DGTBandit(2, 3, "constant", random_state=0)
    curve = simulate(
        policy, X[:800], LABELS[:800], X_test=LAST, y_test=LABELS[800:], queries=3000,
        checkpoints=[100, 1000], reference=SimpleNamespace(predict=perfect),
    )  # fmt: skip
    assert curve.queries == [100, 1000, 3000]
    assert curve.held_out[-1] > 0.95
    assert 0.8 < curve.progressive[-1] < 1.0
    # The reference is never wrong, so regret is the number of wrong actions.
    assert curve.regret == pytest.approx(
        [(1 - p) * n for p, n in zip(curve.progressive, curve.queries, strict=True)]
    )
    assert all(1 <= leaves <= 8 for leaves in curve.leaves)
    assert policy.n_answers == policy.n_decisions == 3000


def test_a_python_loss_gives_the_curve_of_the_compiled_one():
    curves = []
    for loss in (None, lambda action, y: float(action != y)):
        policy = DGTBandit(2, 3, "constant", random_state=0)
        y = LABELS if loss is None else (LABELS == "yes").astype(int)
        curve = simulate(policy, X, y, queries=300, loss=loss)
        curves.append(curve)
    assert [1 - p for p in curves[0].progressive] == pytest.approx(curves[1].progressive)


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_curve_of_values(feedback, loss):
    def plain(action, y):
        return (action - y) ** 2 if loss == "squared" else abs(action - y)

    curves = []
    for chosen in (loss, plain):
        policy = DGTContinuousBandit(0, 5, 2, feedback=feedback, random_state=0)
        curves.append(
            simulate(policy, X, VALUES, X_test=LAST, y_test=VALUES[800:], queries=400, loss=chosen)
        )
    assert curves[0].progressive == pytest.approx(curves[1].progressive)
    assert curves[0].held_out == pytest.approx(curves[1].held_out)
    assert not curves[0].accuracy


def test_a_table_with_categories():
    table = np.array([[v, c] for v, c in zip(X[:, 1], LABELS, strict=True)], dtype=object)
    encoder = Encoder().fit(columns_of(table))
    for loss in (None, lambda action, y: float(action != y)):
        policy = DGTBandit(2, 2, "constant", encoder=encoder, random_state=0)
        y = (LABELS == "yes").astype(int)
        curve = simulate(policy, table, y, X_test=table, y_test=y, loss=loss, queries=500)
        score = curve.held_out[-1]
        assert (score if loss is None else 1 - score) > 0.95
        assert policy.encoder is encoder


def test_stream_order_comes_from_its_seed():
    def progress(seed):
        policy = DGTBandit(2, 2, explore=Greedy(), random_state=0)
        return simulate(policy, X, LABELS, random_state=seed, progress=True).progressive

    assert progress(0) == progress(0) != progress(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": LABELS[:5]}, "equally many"),
        ({"loss": "hinge"}, "must be 0-1 or a callable, got 'hinge'"),
        ({"y": np.arange(1000)}, "at most n_actions=2 labels, got 1000"),
        ({"X_test": X}, "given together"),
        ({"X_test": X, "y_test": LABELS[:3]}, "equally many"),
        ({"checkpoints": [0]}, "between 1 and"),
        ({"checkpoints": [50], "queries": 10}, "between 1 and"),
        ({"X": np.full((1000, 4), np.nan)}, "got nan"),
        ({"X_test": np.full((5, 4), np.nan), "y_test": LABELS[:5]}, "got nan"),
        ({"X_test": X[:5, :3], "y_test": LABELS[:5]}, "the 4 features of X, got 3"),
        ({"y": np.where(X[:, 0] > 0, 1.0, np.nan)}, "y must be finite .* got nan in row"),
        ({"y": np.array(["a", None] * 500, dtype=object)}, "without gaps, got None in row 1"),
        ({"y": np.array(["a", 1] * 500, dtype=object)}, "labels of one kind"),
        (
            {"y": np.zeros((1000, 1))},
            r"one label or value per row, got shape \(1000, 1\)",
        ),
        ({"X_test": X[:2], "y_test": np.zeros((2, 1))}, "y_test must be one label"),
        ({"reference": SimpleNamespace(predict=lambda X: X[:5, 0])}, "each of 1000 rows, got"),
        ({"reference": SimpleNamespace(predict=lambda X: X)}, "each of 1000 rows, got"),
        ({"checkpoints": ["a"]}, "checkpoints must be whole numbers, got \\['a'\\]"),
        ({"checkpoints": 5}, "checkpoints must be whole numbers, got 5"),
        ({"y": 3}, "one label or value per row"),
        ({"y": 3, "loss": lambda action, y: 0.0}, "one label or value per row"),
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"queries": -5}, "queries must be a whole number from 1"),
        ({"queries": 2.5}, "queries must be a whole number from 1"),
    ],
)
def test_wrong_arguments(change, message):
    policy = DGTBandit(2, 2, "constant", random_state=0)
    with pytest.raises(ValueError, match=message):
        simulate(policy, **{"X": X, "y": LABELS} | change)
    assert policy.n_answers == 0


def test_values_must_be_finite():
    with pytest.raises(ValueError, match="y must be finite"):
        simulate(DGTContinuousBandit(0, 5), X, np.full(1000, np.nan))
    with pytest.raises(ValueError, match="larger unit"):
        simulate(DGTContinuousBandit(0, 1e8), X, np.full(1000, 1.0))


def test_plot_shows_both_lines():
    curve = simulate(DGTBandit(2, 2, "constant"), X, LABELS, X_test=X, y_test=LABELS, queries=100)
    ax = curve.plot(label="tree")
    assert [line.get_label() for line in ax.lines] == [
        "tree: held-out rows",
        "tree: while learning",
    ]
    assert ax.get_ylabel() == "accuracy"
    curve = simulate(DGTContinuousBandit(0, 5, 2), X, VALUES, queries=100)
    assert curve.plot(ax).get_ylabel() == "mean loss"


def test_rivals_play_the_same_stream():
    from dgtrees.paper.baselines import EpsilonGreedyLinear, LinearContinuousBandit

    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    curve = simulate(EpsilonGreedyLinear(2, random_state=0), X, y, X_test=X, y_test=y)
    assert curve.held_out[-1] > 0.9 and curve.leaves == [] and len(curve.progressive) == 10
    linear = LinearContinuousBandit(-4.0, 4.0, feedback="two-point", random_state=0)
    curve = simulate(linear, X, X[:, 0], X_test=X, y_test=X[:, 0], queries=2000)
    assert not curve.accuracy and curve.held_out[-1] < 0.1


@pytest.mark.parametrize("queries", range(1, 12))
def test_short_streams(queries):
    curve = simulate(DGTBandit(2, 2, "constant", random_state=0), X, LABELS, queries=queries)
    assert curve.queries[-1] == queries and curve.queries[0] >= 1
    assert curve.queries == sorted(set(curve.queries))


def test_whole_numbers_are_actions_and_other_labels_are_named():
    y = 1 + (X[:, 0] > 0)  # action 0 is never right
    policy = DGTBandit(3, 2, "constant", random_state=0)
    curve = simulate(policy, X, y, X_test=X, y_test=y, queries=3000)
    assert curve.classes == [] and curve.held_out[-1] > 0.9
    assert set(policy.predict(X)) == {1, 2}
    policy = DGTBandit(3, 2, "constant", random_state=0)
    curve = simulate(policy, X, y + 10, X_test=X, y_test=y + 10, queries=3000)
    assert curve.classes == [11, 12] and curve.held_out[-1] > 0.9
    assert set(policy.predict(X)) == {0, 1}
    assert simulate(DGTBandit(2, 2, "constant"), X, LABELS, queries=5).classes == ["no", "yes"]


def test_a_loss_range_counts_in_a_stream():
    def by_hand(action, y):
        return float(action != y)

    y = (X[:, 0] > 0).astype(int)
    policies = [DGTBandit(2, 2, "constant", loss_range=(-1, 2), random_state=0) for _ in "ab"]
    curves = [
        simulate(p, X, y, queries=400, loss=loss)
        for p, loss in zip(policies, (None, by_hand), strict=True)
    ]
    np.testing.assert_array_equal(*(p.expected_loss(X) for p in policies))
    assert curves[0].leaves == curves[1].leaves
    policy = DGTBandit(2, 2, "constant", loss_range=(0, 0.5))
    with pytest.raises(ValueError, match="loss_range"):
        simulate(policy, X, y)
    assert policy.n_decisions == 0


def test_a_python_loss_leaves_the_encoder_where_it_is():
    table = np.array([[v, c] for v, c in zip(X[:, 1], LABELS, strict=True)], dtype=object)
    encoder = Encoder().fit(columns_of(table))
    policy = DGTBandit(2, 2, "constant", encoder=encoder, random_state=0)

    def loss(action, y):
        assert policy.encoder is encoder
        policy.predict(table[:2])  # as another thread might
        return float(action != y)

    simulate(policy, table, (LABELS == "yes").astype(int), loss=loss, queries=50)


def test_rivals_are_checked_before_they_learn():
    from dgtrees.paper.baselines import EpsilonGreedyLinear

    y = (X[:, 0] > 0).astype(int)
    for change in ({"X_test": X[:5, :3], "y_test": y[:5]}, {"X": np.full_like(X, np.nan)}):
        rival = EpsilonGreedyLinear(2, random_state=0)
        with pytest.raises(ValueError, match="features"):
            simulate(rival, **{"X": X, "y": y} | change)
