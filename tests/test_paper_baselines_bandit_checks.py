"""What comes back to the bandit baselines."""

import numpy as np
import pytest

from dgtrees.bandit import Decision
from dgtrees.paper.baselines.bandit_checks import check_feedback


@pytest.mark.parametrize(
    ("change", "loss", "message"),
    [
        ({}, True, "loss must be a number"),
        ({}, "0.5", "loss must be a number"),
        ({}, 10**400, "loss must fit a float"),
        ({"action": True}, 0.5, "action must be a whole number from 0 to 2, got True"),
        ({"action": 0.5}, 0.5, "action must be a whole number from 0 to 2, got 0.5"),
        ({"probability": "1"}, 0.5, "probability must be a number"),
    ],
)
def test_baselines_know_numbers_too(change, loss, message):
    decision = Decision(1, 0.5)
    assert check_feedback(decision, np.float32(0.5), 3) == (1, 0.5, 0.5)
    with pytest.raises(ValueError, match=message):
        check_feedback(decision._replace(**change), loss, 3)
