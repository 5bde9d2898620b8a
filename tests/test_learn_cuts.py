"""One cut: room for every leaf on both sides, and the place that a slow search finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn.cuts import CutSettings, _best_place, _per_bit, find_cut
from dgtrees.learn.leaf_shapes import Centres
from unlabelled_rows import grid

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def slow_place(places, gain, on_left, on_right):
    best = None
    for at in sorted(set(places.tolist()))[1:]:
        right = places >= at
        if right.sum() >= on_right and (~right).sum() >= on_left:
            cost = float(gain[right].sum())
            best = cost if best is None or cost < best else best
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_the_best_place_along_a_line_is_that_of_a_slow_search(seed, on_left, on_right):
    rng = np.random.default_rng(seed)
    places, gain = rng.integers(0, 6, 12).astype(float), rng.normal(size=12)
    found, wanted = (
        _best_place(places, gain, on_left, on_right),
        slow_place(places, gain, on_left, on_right),
    )
    assert (found is None) == (wanted is None)
    if found is not None:
        assert np.isclose(found[0], wanted)
        assert np.isclose(gain[places >= found[1]].sum(), wanted)


def test_a_cut_has_rows_for_every_leaf_on_either_side():
    X = grid(12)
    for leaves in (2, 5):
        cut = find_cut(X, np.ones(12), Centres(X[:leaves]), CutSettings(), np.random.default_rng(0))
        right = (cut.plane.margins(X) >= 0).sum()
        assert len(cut.high) <= right <= 12 - len(cut.low)
        assert len(cut.high) + len(cut.low) == leaves


def test_balance_decides_between_parting_off_and_halving():
    costs = {0.05: 1.0, 0.5: 2.0}  # parting a few off costs half of what halving does
    ranks = {b: {s: _per_bit(cost, s, b) for s, cost in costs.items()} for b in (0.0, 2.0)}
    assert min(ranks[0.0], key=ranks[0.0].get) == 0.05
    assert min(ranks[2.0], key=ranks[2.0].get) == 0.5
    # Where a cut even gains, the one that tells more ranks first too.
    assert _per_bit(-1.0, 0.5, 2.0) < _per_bit(-1.0, 0.05, 2.0)
