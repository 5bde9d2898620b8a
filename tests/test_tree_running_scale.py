"""Running mean and scale of features."""

import numpy as np

from dgtrees import DGTBandit
from dgtrees.tree.state import view_state


def test_running_standardisation_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    X = 1e6 + rng.normal(size=(500, 3)) * [1.0, 1e-3, 0.0]
    policy = DGTBandit(2, 1, "constant", random_state=0)
    for x in X:
        policy.learn(x, policy.decide(x), 0.5)
    state = view_state(policy._arena)
    np.testing.assert_allclose(state.shift + state.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(1 / state.inverse_scale[:2], X.std(axis=0)[:2], rtol=1e-6)
    assert state.inverse_scale[2] == 0  # a constant column says nothing
