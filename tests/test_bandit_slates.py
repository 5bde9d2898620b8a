"""Several actions at once: frequencies are the probabilities that are told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.slates import draw_slate, inclusions

CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda p: sum(p) > 1e-3)


@given(CHANCES, st.data())
def test_inclusions_add_up_and_keep_their_proportions(chances, data):
    p = np.array(chances) / sum(chances)
    k = data.draw(st.integers(1, len(p)))
    q = inclusions(p, k, np.arange(len(p), dtype=float))
    assert q.sum() == pytest.approx(k)
    assert (q >= 0).all() and (q <= 1).all()
    loose = (q > 0) & (q < 1)
    if loose.any():
        ratio = q[loose] / p[loose]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
        assert (p[q == 1.0].min(initial=1.0) * ratio[0]) >= 1 - 1e-9  # certain ones deserve it
    drawn = draw_slate(q, np.random.default_rng(0))
    assert len(drawn) == len(set(drawn.tolist())) == k and (q[drawn] > 0).all()


def test_one_action_is_a_single_draw():
    p = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(inclusions(p, 1, np.zeros(3)), p)


def test_frequencies_are_the_inclusions():
    p = np.array([0.55, 0.2, 0.1, 0.1, 0.04, 0.01, 0.0])
    for k in (2, 3, 5):
        q = inclusions(p, k, np.zeros(7))
        rng, draws = np.random.default_rng(k), 40_000
        counts = np.zeros(7)
        for _ in range(draws):
            counts[draw_slate(q, rng)] += 1
        error = np.sqrt(q * (1 - q) / draws)
        assert (np.abs(counts / draws - q) <= 4.5 * error + 1e-12).all()


def test_actions_without_a_chance_fill_up_by_merit():
    q = inclusions(np.array([1.0, 0.0, 0.0, 0.0]), 2, np.array([0.0, 1.0, 3.0, -np.inf]))
    assert q.tolist() == [1.0, 0.0, 1.0, 0.0]
