"""Methods that learn from the loss of their own actions."""

import pytest

from dgtrees.paper import streams


def test_huber_is_squared_near_and_linear_far():
    near, far = streams.huber(0.55, 0.5), streams.huber(1.5, 0.5)
    assert near == pytest.approx(0.5 * 0.05**2)
    assert far == pytest.approx(0.1 * (1.0 - 0.05))
