"""Checks of values from outside, alone and as annotations of fields."""

from dataclasses import dataclass
from math import inf, nan
from typing import Annotated

import numpy as np
import pytest

from dgtrees.schema import ABOVE_0, check_fields, choice, flag, number, whole


@dataclass(frozen=True)
class Oven:
    heat: Annotated[float, number(ABOVE_0)] = 1.0
    trays: Annotated[int, whole(1, 9)] = 1
    mode: Annotated[str, choice("top", "fan")] = "fan"
    light: Annotated[bool, flag] = False
    longest: Annotated[float, number(0.0, finite=False)] = inf
    name: str = ""


def test_numbers_of_any_library_become_plain():
    oven = Oven(heat=np.float32(2.0), trays=np.uint8(3), light=np.bool_(True), longest=5)
    check_fields(oven)
    found = [oven.heat, oven.trays, oven.light, oven.longest]
    assert found == [2.0, 3, True, 5.0] and [type(v) for v in found] == [float, int, bool, float]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heat": 0}, "heat must be a number above 0, got 0.0"),
        ({"heat": inf}, "heat must be a number above 0, got inf"),
        ({"heat": "1"}, "heat must be a number above 0, got '1'"),
        ({"heat": 10**400}, "heat must be a number above 0, got"),
        ({"trays": 2.0}, r"trays must be a whole number from 1 to 9, got 2\.0"),
        ({"trays": True}, "trays must be a whole number from 1 to 9, got True"),
        ({"mode": "steam"}, "mode must be one of top, fan, got 'steam'"),
        ({"light": 1}, "light must be True or False, got 1"),
        ({"longest": nan}, "longest must be a number of at least 0, got nan"),
    ],
)
def test_a_wrong_field_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        check_fields(Oven(**change))
