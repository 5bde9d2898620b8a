"""Pace: both ways are timed, and the faster one is taken."""

import pytest

from dgtrees.learn.pace import Pace


def run(pace, seconds, epochs):
    """Threads chosen in every epoch, each of which takes `seconds[threads]`."""
    chosen = []
    for _ in range(epochs):
        threads = pace.choose()
        pace.note(threads, seconds[threads])
        chosen.append(threads)
    return chosen


def test_one_thread_is_never_questioned():
    assert set(run(Pace(1), {1: 1.0}, 40)) == {1}


@pytest.mark.parametrize("fast", [1, 4])
def test_the_faster_way_is_taken_and_the_other_tried_now_and_then(fast):
    slow = 5 - fast
    chosen = run(Pace(4), {fast: 1.0, slow: 2.0}, 64)
    assert chosen[:2] == [4, 1]  # all of them first, then one
    assert chosen[2:].count(slow) == 4 == len([i for i in (15, 31, 47, 63) if chosen[i] == slow])


def test_a_machine_that_is_free_again_is_noticed():
    pace = Pace(2)
    assert run(pace, {1: 1.0, 2: 3.0}, 15)[-1] == 1
    assert run(pace, {1: 1.0, 2: 0.5}, 3)[-1] == 2
