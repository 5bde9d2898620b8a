import contextlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.evaluate import evaluate
from dgtrees.bandit.logs import Log

METHODS = ["ips", "snips", "dm", "dr"]
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
    assert 0.93 <= covered / 500 <= 0.98


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("policy", "value"), [(Greedy(), BEST_VALUE), (Random(), 0.45)])
def test_all_methods_agree_on_a_long_log(method, policy, value):
    log, _ = draw(40_000, 1)
    estimate = evaluate(policy, log, method)
    # A linear model of a step is wrong by a few hundredths: that is what "dm" does not know.
    assert abs(estimate.value - value) < (0.08 if method == "dm" else 0.02)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low < 0.04
    assert estimate.method == method and estimate.rows == 40_000


def test_the_formulas_on_four_rows_five_times():
    four = Log(np.zeros((4, 1)), [0, 1, 1, 0], [0.5, 0.25, 0.5, 0.5], [1.0, 0.5, 0.0, 0.0], 2)
    log = four.take(np.tile(np.arange(4), 5))
    policy = np.tile([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]], (5, 1))
    weight = np.tile([2.0, 2.0, 2.0, 0.0], 5)
    assert evaluate(policy, log, "ips").value == pytest.approx((2 * 1 + 2 * 0.5) / 4)
    estimate = evaluate(policy, log, "snips")
    assert estimate.value == pytest.approx(3 / 6)
    assert estimate.matched_rows == 15 and estimate.effective_rows == pytest.approx(15)
    assert (estimate.max_weight, estimate.mean_weight) == (2.0, 1.5)
    # Features that say nothing: the models are the means of both actions' losses.
    estimate = evaluate(policy, log, "dm")
    shares = policy.mean(axis=0)
    assert estimate.value == pytest.approx(shares @ [0.5, 0.25])
    assert estimate.effective_rows == pytest.approx(1 / np.sum(shares**2 / 10))
    # Twenty folds leave one row out each: the other nine rows of the action are the prediction.
    total = np.array([5.0, 2.5])
    q = np.tile(total / 10, (20, 1))
    taken = (total[log.actions] - log.losses) / 9
    q[np.arange(20), log.actions] = taken
    expected = (policy * q).sum(axis=1) + weight * (log.losses - taken)
    assert evaluate(policy, log, "dr", folds=20).value == pytest.approx(expected.mean())


def test_the_direct_method_knows_the_noise_of_its_models():
    estimates = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, actions = rng.normal(size=(300, 2)), rng.integers(0, 2, size=300)
        losses = 0.3 + 0.2 * X[:, 0] * actions + rng.normal(size=300)
        log = Log(X, actions, np.full(300, 0.5), losses, 2)
        estimates.append(evaluate((X[:, 1] > 0).astype(int), log, "dm"))
    covered = np.mean([e.low <= 0.3 <= e.high for e in estimates])
    assert 0.93 <= covered <= 0.99


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
    for method in METHODS:
        estimate = evaluate(np.ones(100, dtype=int), log, method)
        assert estimate.low == 0
        # Clopper and Pearson's limit for 0 losses of 10 is .31.
        assert 0.3 < estimate.high < 0.9


@pytest.mark.parametrize("method", METHODS)
def test_equal_losses_say_nothing_of_other_losses(method):
    log = Log(np.zeros((50, 1)), np.arange(50) % 2, np.full(50, 0.5), np.zeros(50), 2)
    policy = np.zeros(50, dtype=int)
    with pytest.raises(ValueError, match=r"got 0 in all 50 rows: give .* loss_range=\(low, high\)"):
        evaluate(policy, log, method)
    estimate = evaluate(policy, log, method, loss_range=(0, 1))
    # None of 25 rows: Clopper and Pearson's limit is .137.
    assert estimate.value == estimate.low == 0
    assert 0.137 < estimate.high < 0.25


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


@given(rows=st.integers(2, 20), data=st.data(), method=st.sampled_from(METHODS))
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
        assert re.search("needs|at least 5 rows|must differ", str(error))  # noqa: PT017
    else:
        slack = 1e-9 * (1 + abs(estimate.value))
        assert estimate.low - slack <= estimate.value <= estimate.high + slack
        if method == "snips":
            assert log.losses.min() - slack <= estimate.low
            assert estimate.high <= log.losses.max() + slack


NO_ROWS = "needs rows of what the policy does, got none for 100% of it in 8 rows: log more of its"


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (np.zeros(8, int), {"method": "best"}, "method must be one of ips, snips, dm, dr, got 'be"),
        (np.zeros(8, int), {"confidence": 95}, "confidence must be between 0 and 1, got 95"),
        (
            np.zeros(8, int),
            {"method": "dr", "folds": 9},
            "folds must be a whole number from 2 to 8",
        ),
        (np.zeros(8, int), {"ridge": 0}, "ridge must be a number above 0, got 0"),
        (np.zeros(8, int), {"loss_range": 1}, "loss_range must be two numbers, got 1"),
        (np.zeros(8, int), {"loss_range": (0, 1, 2)}, "loss_range must be two numbers, got"),
        (np.zeros(8, int), {"loss_range": ("0", 1)}, "loss_range must be two numbers, got"),
        (np.zeros(8, int), {"loss_range": (1, 0)}, r"must be finite and ascend, got \(1, 0\)"),
        (np.zeros(8, int), {"loss_range": (0, np.inf)}, "loss_range must be finite and ascend"),
        (np.zeros(8, int), {"loss_range": (0, 0.5)}, "losses must lie in .* 0 to 0.5, got 1"),
        (np.zeros(3, int), {}, r"actions of shape \(8,\) or probabilities of shape \(8, 3\), got"),
        (np.full(8, 3), {}, "from 0 to 2, got 3: read the log with n_actions"),
        (np.full(8, 0.5), {}, "actions must be whole numbers, got"),
        (np.array(["a"] * 8), {}, "actions must be whole numbers, got"),
        (np.full((8, 2), 0.5), {}, r"shape \(8, 3\), got float64 of shape \(8, 2\): read the log"),
        (np.full((8, 3), 0.5), {}, "add up to 1, got .* in row 0"),
        (np.array([[1.5, -0.5, 0.0]] * 8), {}, "must be at least 0"),
        (np.full((8, 3), np.nan), {}, "must be at least 0"),
        (np.full(8, 2), {}, "snips " + NO_ROWS),
        (np.full(8, 2), {"method": "ips"}, "ips " + NO_ROWS),
        (np.full(8, 2), {"method": "dr"}, "dr " + NO_ROWS),
        (np.full(8, 2), {"method": "dm"}, "dm " + NO_ROWS),
        (np.zeros(8, int), {}, "snips needs 5 rows that carry the policy's weight, got 4.0 of 8"),
        (np.zeros(8, int), {"method": "dm"}, "dm needs 5 rows that carry .* got 4.0 of 8: log"),
    ],
)
def test_what_is_refused(policy, options, message):
    log = Log(np.zeros((8, 1)), [0, 1] * 4, [0.5] * 8, [0.0, 1.0, 1.0, 0.0] * 2, 3)
    with pytest.raises(ValueError, match=message) as refused:
        evaluate(policy, log, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", METHODS)
def test_logs_of_a_few_rows_are_refused(method):
    log = Log(np.zeros((4, 1)), [0] * 4, [1.0] * 4, [0.0, 1.0, 1.0, 0.0], 2)
    for rows in (0, 1, 4):
        with pytest.raises(ValueError, match=f"at least 5 rows to be judged by, got {rows}"):
            evaluate(np.zeros(rows, int), log.take(slice(rows)), method)


def test_numbers_beyond_float64_are_refused():
    losses = [1e308, -1e308, 1e308, 1e308] * 3
    log = Log(np.zeros((12, 1)), [0, 1, 0, 1] * 3, [1e-300] * 12, losses, 2)
    with pytest.raises(ValueError, match="must stay within float64"):
        evaluate(np.zeros(12, int), log, "ips")


@pytest.mark.parametrize("method", METHODS)
def test_what_the_log_never_shows_may_cost_anything(method):
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, size=1000)
    losses = rng.choice([0.0, 1.0], size=1000)
    log = Log(np.zeros((1000, 1)), actions, np.full(1000, 0.5), losses, 3)
    seen, some = (
        evaluate(np.tile([0.5 - share / 2, 0.5 - share / 2, share], (1000, 1)), log, method)
        for share in (0.0, 0.2)
    )
    assert seen.unseen == 0 and seen.high - seen.low < 0.09
    assert some.unseen == pytest.approx(0.2)
    assert some.low == pytest.approx(0.8 * seen.low, abs=0.01)
    assert some.high == pytest.approx(0.8 * seen.high + 0.2, abs=0.01)
    assert str(some).endswith("of 1000 rows, 20 % unseen)")


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_where_the_log_left_no_choice_it_says_nothing_of_others(method):
    # In a fifth of the rows action 1 was certain, and cost nothing; action 0 would have cost 1.
    certain = np.arange(500) % 5 == 0
    actions = np.where(certain, 1, np.arange(500) % 2)
    probabilities = np.where(certain, 1.0, 0.5)
    losses = np.where(certain, 0.0, np.arange(500) % 10 < 4).astype(float)
    log = Log(np.zeros((500, 1)), actions, probabilities, losses, 2)
    estimate = evaluate(np.zeros(500, int), log, method)
    assert estimate.unseen == pytest.approx(0.2)
    # A quarter of the other rows of action 0 cost 1.
    assert estimate.low < 0.8 * 0.25 < 0.8 * 0.25 + 0.2 < estimate.high


@pytest.mark.parametrize("log", ["own.jsonl", None, [1, 2]])
def test_what_is_no_log_is_refused(log):
    with pytest.raises(ValueError, match=r"log must be a Log, .* got .*read_log"):
        evaluate(np.zeros(3, dtype=int), log)


# Losses of two actions are offset + slope * x on average, with x uniform in -1 .. 1: the model of
# "dm" is right, so that its interval has no excuse.
OFFSETS, SLOPES = np.array([0.3, 0.5]), np.array([0.2, -0.3])


def draw_rare(rows, share, kind, seed):
    """A log that shows action 0 with the given probability, a policy, and that policy's loss."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=rows)
    actions = (rng.random(rows) >= share).astype(int)
    means = OFFSETS[actions] + SLOPES[actions] * x
    if kind == "binary":
        losses = (rng.random(rows) < means).astype(float)
        chances, value = np.tile([1.0, 0.0], (rows, 1)), OFFSETS[0]
    else:
        losses = means * (1 + rng.uniform(-0.9, 0.9, size=rows))
        chances = np.column_stack([0.5 + 0.4 * x, 0.5 - 0.4 * x])
        value = OFFSETS.mean() + 0.4 / 3 * (SLOPES[0] - SLOPES[1])
    log = Log(x[:, None], actions, np.where(actions == 0, share, 1 - share), losses, 2)
    return log, chances, value


def normal_width(log, chances):
    """Width of snips' normal interval, which is too narrow where few rows carry the weight."""
    weight = chances[np.arange(len(log)), log.actions] / log.probabilities
    centred = weight * (log.losses - np.average(log.losses, weights=weight)) / weight.mean()
    return 2 * 1.96 * centred.std() / np.sqrt(len(log))


# Binary losses go with a greedy policy, continuous ones with a policy that draws.
SHARES = {
    "binary": [(rows, share) for rows in (10, 50, 200, 2000) for share in (0.5, 0.1, 0.02)],
    "continuous": [(rows, share) for rows in (10, 50, 200) for share in (0.5, 0.1, 0.02)],
}


@pytest.mark.parametrize(
    ("rows", "share", "kind"),
    [(*case, kind) for kind, cases in SHARES.items() for case in cases]
    + [(2000, 0.1, "continuous")],
)
def test_few_intervals_are_wrong_however_few_rows(rows, share, kind):
    wrong, refused = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0)
    widths, normal = {method: [] for method in METHODS}, []
    for seed in range(500):
        log, chances, value = draw_rare(rows, share, kind, seed)
        if rows == 2000:
            normal.append(normal_width(log, chances))
        for method in METHODS:
            try:
                estimate = evaluate(chances, log, method)
            except ValueError:
                refused[method] += 1
                continue
            wrong[method] += not estimate.low <= value <= estimate.high
            widths[method].append(estimate.high - estimate.low)
    assert all(wrong[method] <= 0.07 * 500 for method in METHODS), wrong
    # Where an answer is not the exception, it is to be trusted by itself too.
    assert all(wrong[m] <= 0.07 * (500 - refused[m]) for m in METHODS if refused[m] < 400), refused
    if rows * share >= 40:
        assert not any(refused.values()), refused
    if rows == 2000 and share > 0.02:
        assert all(np.mean(widths[m]) < 2 * np.mean(normal) for m in METHODS)


@pytest.mark.parametrize("shown", [0, 1, 2, 5, 10])
def test_the_direct_method_knows_how_often_it_saw_an_action(shown):
    wrong = refused = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        actions = (np.arange(300) >= shown).astype(int)
        losses = (rng.random(300) < np.where(actions == 0, 0.3, 0.6)).astype(float)
        log = Log(rng.normal(size=(300, 2)), actions, np.full(300, 0.5), losses, 2)
        try:
            estimate = evaluate(np.zeros(300, int), log, "dm")
        except ValueError:
            refused += 1
        else:
            wrong += not estimate.low <= 0.3 <= estimate.high
    assert wrong <= 0.07 * 200
    assert refused == 200 if shown < 5 else shown == 5 or refused < 40


def test_skewed_losses_without_a_bound_are_covered_by_ten_rows():
    covered = 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        log = Log(np.zeros((10, 1)), [0] * 10, np.ones(10), rng.exponential(size=10), 1)
        estimate = evaluate(np.zeros(10, int), log)
        covered += estimate.low <= 1 <= estimate.high
    assert covered / 500 >= 0.93


@pytest.mark.parametrize("method", METHODS)
def test_contexts_in_which_an_action_is_rare_count(method):
    # In a seventh of the rows the policy's action is hardly ever logged, and costs more there.
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rare = rng.random(100) < 0.15
        share = np.where(rare, 0.02, 0.9)
        actions = (rng.random(100) >= share).astype(int)
        losses = (rng.random(100) < np.where(rare, 0.8, 0.2)).astype(float)
        probabilities = np.where(actions == 0, share, 1 - share)
        log = Log(rare[:, None].astype(float), actions, probabilities, losses, 2)
        with contextlib.suppress(ValueError):
            estimate = evaluate(np.zeros(100, int), log, method)
            wrong += not estimate.low <= 0.15 * 0.8 + 0.85 * 0.2 <= estimate.high
    assert wrong <= 0.07 * 200


def test_many_actions_of_a_few_rows_each_are_no_reason_to_refuse():
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 100, size=400)
    log = Log(np.zeros((400, 1)), actions, np.full(400, 0.01), rng.choice([0.0, 1.0], 400), 100)
    policy = np.full((400, 100), 0.01)
    for method in ("ips", "snips", "dr"):
        estimate = evaluate(policy, log, method)
        assert estimate.high - estimate.low < 0.2
