import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.evaluate import evaluate
from dgtrees.bandit.logs import Log

# Three actions; the loss of each is 1 with a probability that depends on the sign of x0.
LOSS_RATE = np.array([[0.2, 0.5, 0.6], [0.7, 0.4, 0.3]])
BEST = np.array([0, 2])
BEST_VALUE = 0.25


def draw(rows, seed, explore=0.5):
    """A log of a policy that prefers action 1, and the side x0 is on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    side = (X[:, 0] > 0).astype(int)
    chances = np.array([explore / 3, 1 - 2 * explore / 3, explore / 3])
    actions = rng.choice(3, size=rows, p=chances)
    losses = (rng.random(rows) < LOSS_RATE[side, actions]).astype(float)
    return Log(X, actions, chances[actions], losses, 3), side


class Greedy:
    def predict(self, X):
        return BEST[(X[:, 0] > 0).astype(int)]


class Random:
    def action_probabilities(self, X):
        return np.tile([0.25, 0.25, 0.5], (len(X), 1))

    def predict(self, X):
        raise AssertionError("the probabilities say more")


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_intervals_cover_the_truth_as_often_as_they_say(method):
    covered = 0
    for seed in range(500):
        log, side = draw(2000, seed)
        estimate = evaluate(BEST[side], log, method)
        covered += estimate.low <= BEST_VALUE <= estimate.high
    assert 0.93 <= covered / 500 <= 0.97


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_intervals_cover_where_few_losses_were_seen(method):
    # Weights of 60 and a loss in a hundred: a normal interval covers about half of the time.
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        taken = rng.random(1000) < 1 / 60
        losses = np.where(taken, rng.random(1000) < 0.05, rng.random(1000) < 0.5).astype(float)
        probabilities = np.where(taken, 1 / 60, 59 / 60)
        log = Log(rng.normal(size=(1000, 1)), taken.astype(int), probabilities, losses, 2)
        estimate = evaluate(np.ones(1000, dtype=int), log, method)
        covered += estimate.low <= 0.05 <= estimate.high
    assert covered / 200 >= 0.93


@pytest.mark.parametrize("method", ["ips", "snips", "dm", "dr"])
@pytest.mark.parametrize(("policy", "value"), [(Greedy(), BEST_VALUE), (Random(), 0.45)])
def test_all_methods_agree_on_a_long_log(method, policy, value):
    log, _ = draw(40_000, 1)
    estimate = evaluate(policy, log, method)
    # A linear model of a step is wrong by a few hundredths: that is what "dm" does not know.
    assert abs(estimate.value - value) < (0.08 if method == "dm" else 0.02)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low < 0.04
    assert estimate.method == method and estimate.rows == 40_000


def test_the_formulas_on_four_rows():
    log = Log(np.zeros((4, 1)), [0, 1, 1, 0], [0.5, 0.25, 0.5, 0.5], [1.0, 0.5, 0.0, 0.0], 2)
    policy = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]])
    weight = np.array([2.0, 2.0, 2.0, 0.0])
    assert evaluate(policy, log, "ips").value == pytest.approx((2 * 1 + 2 * 0.5) / 4)
    estimate = evaluate(policy, log, "snips")
    assert estimate.value == pytest.approx(3 / 6)
    assert estimate.matched_rows == 3 and estimate.effective_rows == pytest.approx(3)
    assert (estimate.max_weight, estimate.mean_weight) == (2.0, 1.5)
    # Features that say nothing: the models are the means of both actions' losses.
    shares = policy.mean(axis=0)
    assert evaluate(policy, log, "dm").value == pytest.approx(shares @ [0.5, 0.25])
    # Four folds leave one row out each: the other row of the action is the prediction.
    q = np.array([[0.0, 0.25], [0.5, 0.0], [0.5, 0.5], [1.0, 0.25]])
    base = (policy * q).sum(axis=1)
    expected = base + weight * (log.losses - q[np.arange(4), log.actions])
    assert evaluate(policy, log, "dr", folds=4).value == pytest.approx(expected.mean())


def test_the_direct_method_knows_the_noise_of_its_models():
    estimates = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, actions = rng.normal(size=(300, 2)), rng.integers(0, 2, size=300)
        losses = 0.3 + 0.2 * X[:, 0] * actions + rng.normal(size=300)
        log = Log(X, actions, np.full(300, 0.5), losses, 2)
        estimates.append(evaluate((X[:, 1] > 0).astype(int), log, "dm"))
    covered = np.mean([e.low <= 0.3 <= e.high for e in estimates])
    assert 0.92 <= covered <= 0.98


def test_a_model_of_the_loss_makes_the_interval_shorter():
    rng = np.random.default_rng(0)
    X, actions = rng.normal(size=(2000, 3)), rng.integers(0, 4, size=2000)
    losses = 5 + X[:, 0] + 0.1 * rng.normal(size=2000)
    log = Log(X, actions, np.full(2000, 0.25), losses, 4)
    width = {}
    for method in ("ips", "snips", "dr"):
        estimate = evaluate(np.zeros(2000, dtype=int), log, method)
        width[method] = estimate.high - estimate.low
    assert width["dr"] < 0.7 * width["snips"] < 0.7 * width["ips"]


def test_a_matched_row_without_a_loss_is_no_proof_of_none():
    losses = np.array([0.0] * 10 + [1.0] * 90)
    log = Log(np.zeros((100, 1)), [1] * 10 + [0] * 90, [0.1] * 10 + [0.9] * 90, losses, 2)
    for method in ("ips", "snips"):
        estimate = evaluate(np.ones(100, dtype=int), log, method)
        assert estimate.value == estimate.low == 0
        assert 0.2 < estimate.high < 0.5


def test_equal_losses_leave_no_doubt():
    log = Log(np.zeros((50, 1)), np.arange(50) % 2, np.full(50, 0.5), np.full(50, 0.3), 2)
    estimate = evaluate(np.zeros(50, dtype=int), log)
    assert estimate.value == pytest.approx(0.3)
    assert estimate.high - estimate.low < 1e-12


def test_higher_confidence_is_wider_and_folds_are_repeatable():
    log, side = draw(500, 3)
    narrow, wide = (evaluate(BEST[side], log, confidence=c) for c in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
    first, second, other = (evaluate(BEST[side], log, "dr", random_state=s) for s in (0, 0, 1))
    assert first == second != other
    assert str(narrow).endswith(f"(snips, 80 %, {narrow.effective_rows:.0f} effective of 500 rows)")


def test_actions_as_floats_and_probabilities_as_float32():
    log, side = draw(500, 3)
    actions = BEST[side]
    expected = evaluate(actions, log)
    assert evaluate(actions.astype(float), log) == expected
    assert evaluate(np.eye(3, dtype=np.float32)[actions], log) == expected


@given(
    rows=st.integers(2, 12), data=st.data(), method=st.sampled_from(["ips", "snips", "dm", "dr"])
)
def test_every_estimate_lies_within_its_interval(rows, data, method):
    def column(values):
        return np.array(data.draw(st.lists(values, min_size=rows, max_size=rows)))

    log = Log(
        column(st.floats(-1e9, 1e9))[:, None],
        column(st.integers(0, 2)).astype(int),
        column(st.floats(1e-6, 1)),
        column(st.floats(-1e6, 1e6)),
        3,
    )
    policy = column(st.integers(0, 2)).astype(int)
    try:
        estimate = evaluate(policy, log, method, folds=2)
    except ValueError as error:
        assert "would take, got none" in str(error)  # noqa: PT017
    else:
        slack = 1e-9 * (1 + abs(estimate.value))
        assert estimate.low - slack <= estimate.value <= estimate.high + slack


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (np.zeros(4, int), {"method": "best"}, "method must be one of ips, snips, dm, dr, got 'be"),
        (np.zeros(4, int), {"confidence": 95}, "confidence must be between 0 and 1, got 95"),
        (np.zeros(4, int), {"method": "dr", "folds": 9}, "folds must be from 2 to the 4 rows"),
        (np.zeros(4, int), {"ridge": 0}, "ridge must be a number above 0, got 0"),
        (np.zeros(3, int), {}, r"actions of shape \(4,\) or probabilities of shape \(4, 3\), got"),
        (np.full(4, 3), {}, "from 0 to 2, got 3: read the log with n_actions"),
        (np.full(4, 0.5), {}, "actions must be whole numbers, got"),
        (np.array(["a"] * 4), {}, "actions must be whole numbers, got"),
        (np.full((4, 2), 0.5), {}, r"shape \(4, 3\), got float64 of shape \(4, 2\): read the log"),
        (np.full((4, 3), 0.5), {}, "add up to 1, got .* in row 0"),
        (np.array([[1.5, -0.5, 0.0]] * 4), {}, "must be at least 0"),
        (np.full((4, 3), np.nan), {}, "must be at least 0"),
        (np.full(4, 2), {}, "snips needs rows whose logged action the policy would take, got none"),
        (np.full(4, 2), {"method": "dr"}, "log more exploration, or use method='dm'"),
    ],
)
def test_what_is_refused(policy, options, message):
    log = Log(np.zeros((4, 1)), [0, 1, 0, 1], [0.5] * 4, [0.0, 1.0, 1.0, 0.0], 3)
    with pytest.raises(ValueError, match=message):
        evaluate(policy, log, **options)


def test_numbers_beyond_float64_are_refused():
    losses = [1e308, -1e308, 1e308, 1e308]
    log = Log(np.zeros((4, 1)), [0, 1, 0, 1], [1e-300] * 4, losses, 2)
    with pytest.raises(ValueError, match="must stay within float64"):
        evaluate(np.zeros(4, int), log, "ips")
    one = log.take([0])
    with pytest.raises(ValueError, match="at least 2 rows to be judged by, got 1"):
        evaluate(np.zeros(1, int), one)


def test_an_action_never_logged_costs_the_mean():
    log = Log(np.zeros((4, 1)), [0, 0, 1, 1], [0.5] * 4, [0.0, 1.0, 1.0, 1.0], 3)
    estimate = evaluate(np.full(4, 2), log, "dm")
    assert estimate.value == pytest.approx(0.75)
    assert estimate.matched_rows == 0 and estimate.effective_rows == 0


@pytest.mark.parametrize("log", ["own.jsonl", None, [1, 2]])
def test_what_is_no_log_is_refused(log):
    with pytest.raises(ValueError, match=r"log must be a Log, got .*read_log"):
        evaluate(np.zeros(3, dtype=int), log)
