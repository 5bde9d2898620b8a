import numpy as np
import pytest

from dgtrees.tree import topology
from reference import ancestors, sides


@pytest.mark.parametrize("height", range(1, 7))
def test_ancestors_and_sides_agree_with_walking_up_from_each_leaf(height):
    above, side = ancestors(height), sides(height)
    for leaf in range(topology.n_leaves(height)):
        node = topology.n_internal(height) + leaf
        for depth in reversed(range(height)):
            parent = (node - 1) // 2
            assert above[depth, leaf] == parent
            assert side[depth, leaf] == (1 if node == 2 * parent + 2 else -1)
            node = parent
        assert node == 0


@pytest.mark.parametrize("height", range(7))
def test_child_pointers_reach_every_leaf_once(height):
    left, right = topology.child_pointers(height)
    assert len(left) == len(right) == topology.n_internal(height)
    leaves = [~c for c in np.concatenate([left, right]) if c < 0]
    expected = range(topology.n_leaves(height)) if height else []
    assert sorted(leaves) == list(expected)
