"""Named losses: the same for single actions, arrays and compiled code."""

import numpy as np
import pytest

from dgtrees.tree.action_losses import CODES, LOSSES, compute_loss, huber


@pytest.mark.parametrize("name", LOSSES)
def test_arrays_cost_what_single_actions_do(name):
    actions, targets = np.array([0.0, 1.0, 2.5]), np.array([0.0, 2.0, -1.0])
    each = [LOSSES[name](a, b) for a, b in zip(actions, targets, strict=True)]
    np.testing.assert_allclose(LOSSES[name](actions, targets), each, rtol=1e-15)
    if name in CODES:
        found = [compute_loss(CODES[name], a, b) for a, b in zip(actions, targets, strict=True)]
        np.testing.assert_allclose(found, each, rtol=1e-15)


def test_labels_of_any_kind():
    assert LOSSES["0-1"]("no", "yes") == 1.0
    assert LOSSES["0-1"](np.array(["a", "b"]), np.array(["a", "c"])).tolist() == [0.0, 1.0]


def test_huber_is_squared_near_and_linear_far():
    assert huber(0.05, 0.0) == pytest.approx(0.5 * 0.05**2)
    assert huber(2.0, 1.0) - huber(1.5, 1.0) == pytest.approx(0.1 * 0.5)
