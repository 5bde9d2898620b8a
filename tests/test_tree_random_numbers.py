"""SplitMix64 against numbers of its published program."""

import numpy as np

from dgtrees.tree.random_numbers import draw_uniform

FIRST = [6457827717110365317, 3203168211198807973, 9817491932198370423]  # of the seed 1234567


def test_numbers_are_those_of_the_published_program():
    random = np.array([0, 1234567], dtype=np.uint64)
    assert [draw_uniform(random, 1) for _ in FIRST] == [(n >> 11) * 2.0**-53 for n in FIRST]
    assert random[0] == 0  # the other stream has not moved
