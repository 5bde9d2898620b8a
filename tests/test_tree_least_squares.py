import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tree.least_squares import gain, invert, make_bank, predict, update
from reference_mixed import Ridge


def _taught(seed: int, columns: int, answers: int, weight: float, ridge: float):
    rng = np.random.default_rng(seed)
    bank, slow = make_bank(2, columns, ridge), Ridge(2, ridge)
    for _ in range(answers):
        x = np.append(rng.normal(size=columns - 1), 1.0)
        k, reward = int(rng.integers(2)), float(rng.normal())
        update(bank, 1, k, x, reward, weight)
        slow.learn(k, x, reward, weight)
    return bank, slow, np.append(rng.normal(size=columns - 1), 1.0)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 12),
    st.integers(0, 30),
    st.sampled_from([0.3, 1.0, 7.0]),
    st.sampled_from([0.5, 3.0]),
)
def test_predictions_and_widths_are_those_of_a_direct_solution(
    seed, columns, answers, weight, ridge
):
    bank, slow, x = _taught(seed, columns, answers, weight, ridge)
    for again in (False, True):
        for k in (0, 1):
            if again:
                invert(bank, 1, k, ridge)
            for offset in (0.0, -2.5):
                expected = slow.predict(k, x, offset)
                assert predict(bank, 1, k, x, offset) == pytest.approx(expected, abs=1e-9)
            assert np.sqrt(gain(bank, 1, k, x)) == pytest.approx(slow.width(k, x), abs=1e-9)


def test_other_actions_and_the_other_slot_are_left_alone():
    bank = make_bank(3, 4, 1.0)
    update(bank, 0, 1, np.array([1.0, 2.0, 3.0, 1.0]), 1.0, 1.0)
    assert not bank.sums[1].any() and not bank.sums[0, [0, 2]].any()
    assert np.array_equal(bank.inverse[0, 0], np.eye(4))


def test_a_hundred_thousand_updates_agree_with_a_direct_solution():
    rng = np.random.default_rng(0)
    columns, answers = 12, 100_000
    X = rng.normal(size=(answers, columns)) * 10.0 ** rng.uniform(-2, 2, size=columns)
    X[:, 1] = X[:, 0] + 1e-3 * rng.normal(size=answers)  # nearly the same column twice
    X[:, -1] = 1.0
    rewards = X @ rng.normal(size=columns) + rng.normal(size=answers)
    bank = make_bank(1, columns, 1.0)
    for x, reward in zip(X, rewards, strict=True):
        update(bank, 0, 0, x, reward, 1.0)
    direct = np.linalg.solve(X.T @ X + np.eye(columns), X.T @ rewards)
    scale = X.std(axis=0)
    scale[-1] = 1.0
    np.testing.assert_allclose(bank.slopes[0, 0] * scale, direct * scale, rtol=1e-7, atol=1e-7)
    invert(bank, 0, 0, 1.0)
    np.testing.assert_allclose(bank.slopes[0, 0] * scale, direct * scale, rtol=1e-8, atol=1e-8)


def test_a_gain_is_the_inverse_times_the_row():
    bank, slow, x = _taught(3, 6, 40, 1.0, 1.0)
    q = gain(bank, 1, 0, x)
    np.testing.assert_allclose(bank.gain, slow.covariance(0, 6) @ x, atol=1e-12)
    assert q == pytest.approx(x @ bank.gain)
