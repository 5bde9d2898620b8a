"""Proposed partings of leaves: all of them are partings, none twice, the obvious one among them."""

import numpy as np
import pytest

from dgtrees.learn.groupings import propose_groups
from dgtrees.learn.leaf_shapes import Centres

pytestmark = pytest.mark.usefixtures("one_blas_thread")


@pytest.mark.parametrize("count", [2, 3, 5, 9, 30])
def test_partings_are_proper_and_differ(count):
    rng = np.random.default_rng(count)
    centres = rng.normal(size=(count, 3))
    costs = Centres(centres).costs(rng.normal(size=(200, 3)))
    found = propose_groups(centres, np.ones(count), costs, rng)
    assert all(0 < mask.sum() < count and not mask[0] for mask in found)
    assert len({mask.tobytes() for mask in found}) == len(found) >= min(count - 1, 10)


def test_two_far_groups_are_proposed():
    rng = np.random.default_rng(0)
    side = np.arange(12) % 2 == 1
    centres = rng.normal(size=(12, 2)) + 50.0 * side[:, None]
    rows = np.repeat(centres, 10, axis=0) + 0.1
    found = propose_groups(centres, np.ones(12), Centres(centres).costs(rows), rng)
    assert any(np.array_equal(mask, side) for mask in found)
