"""Labelled data as a stream."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.bandit import Greedy, simulate
from dgtrees.data.encoder import Encoder, columns_of

mpl.use("Agg")
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
VALUES = 2.0 + (X[:, 0] > 0)
LAST = X[800:]


def perfect(X):
    return np.array(["no", "yes"])[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_curve_of_labels():
    policy = DGTBandit(2, 3, random_state=0)
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
        policy = DGTBandit(2, 3, random_state=0)
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
        policy = DGTBandit(2, 2, encoder=encoder, random_state=0)
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
    ],
)
def test_wrong_arguments(change, message):
    policy = DGTBandit(2, 2, random_state=0)
    with pytest.raises(ValueError, match=message):
        simulate(policy, **{"X": X, "y": LABELS} | change)
    assert policy.n_answers == 0


def test_values_must_be_finite():
    with pytest.raises(ValueError, match="y must be finite"):
        simulate(DGTContinuousBandit(0, 5), X, np.full(1000, np.nan))
    with pytest.raises(ValueError, match="larger unit"):
        simulate(DGTContinuousBandit(0, 1e8), X, np.full(1000, 1.0))


def test_plot_shows_both_lines():
    curve = simulate(DGTBandit(2, 2), X, LABELS, X_test=X, y_test=LABELS, queries=100)
    ax = curve.plot(label="tree")
    assert [line.get_label() for line in ax.lines] == [
        "tree: held-out rows",
        "tree: while learning",
    ]
    assert ax.get_ylabel() == "accuracy"
    curve = simulate(DGTContinuousBandit(0, 5, 2), X, VALUES, queries=100)
    assert curve.plot(ax).get_ylabel() == "mean loss"


def test_rivals_play_the_same_stream():
    from dgtrees.baselines import EpsilonGreedyLinear, LinearContinuousBandit

    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    curve = simulate(EpsilonGreedyLinear(2, random_state=0), X, y, X_test=X, y_test=y)
    assert curve.held_out[-1] > 0.9 and curve.leaves == [] and len(curve.progressive) == 10
    linear = LinearContinuousBandit(-4.0, 4.0, feedback="two-point", random_state=0)
    curve = simulate(linear, X, X[:, 0], X_test=X, y_test=X[:, 0], queries=2000)
    assert not curve.accuracy and curve.held_out[-1] < 0.1
