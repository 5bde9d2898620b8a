"""What bandit baselines ask of rows, numbers of actions and feedback."""

import numpy as np
import pytest

from dgtrees.paper.baselines import decision


@pytest.mark.parametrize("number", [1, 2.0, True, "3"])
def test_numbers_of_actions_are_whole_and_at_least_2(number):
    assert decision.check_n_actions(np.int64(2)) == 2
    with pytest.raises(ValueError, match="n_actions must be a whole number of at least 2"):
        decision.check_n_actions(number)


def test_rows_are_finite_and_of_one_width():
    assert decision.check_row([1, 2], None).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"X must have shape \(rows, 3\), got \(1, 2\)"):
        decision.check_row([1, 2], 3)
    with pytest.raises(ValueError, match="must be one row"):
        decision.check_row([[1, 2]], None)
    with pytest.raises(ValueError, match=r"features must be finite, got .* in row 1"):
        decision.check_rows([[1.0], [np.nan]], 1)
