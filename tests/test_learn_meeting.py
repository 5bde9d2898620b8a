"""Nobody goes on before everybody is there, however many they are."""

import threading

import numpy as np
import pytest
from numba import njit

from dgtrees.learn import _meeting
from dgtrees.learn._meeting import meet, new_meeting

pytestmark = pytest.mark.skipif(not _meeting.AVAILABLE, reason="threads do not meet here")

ROUNDS = 300


@njit(nogil=True)
def walk(counters, places, thread, rounds, early):
    """Note every round in the thread's place, and count those that others have not come to."""
    threads = places.shape[0]
    for k in range(1, rounds + 1):
        places[thread, 0] = k
        meet(counters, threads)
        for other in range(threads):
            if places[other, 0] != k:
                early[thread] += 1
        meet(counters, threads)


def together(threads, work):
    group = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for thread in group:
        thread.start()
    for thread in group:
        thread.join(120)
    assert not any(thread.is_alive() for thread in group)


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 13])
def test_no_thread_passes_early_in_any_round(threads):
    counters, early = new_meeting(), np.zeros(threads, np.int64)
    places = np.zeros((threads, 8), np.int64)
    together(threads, lambda thread: walk(counters, places, thread, ROUNDS, early))
    assert (early == 0).all()
    assert (places[:, 0] == ROUNDS).all()


def test_all_wait_for_the_last_one():
    counters, passed = new_meeting(), []

    def wait():
        meet(counters, 4)
        passed.append(1)

    group = [threading.Thread(target=wait) for _ in range(3)]
    for thread in group:
        thread.start()
    everyone_is_waiting = threading.Event()
    while counters[_meeting._ARRIVED] < 3:
        everyone_is_waiting.wait(0.001)
    for thread in group:
        thread.join(0.05)  # far beyond the rounds of spinning
    assert passed == []
    wait()
    for thread in group:
        thread.join(60)
    assert len(passed) == 4


def test_one_thread_waits_for_nobody():
    counters = new_meeting()
    meet(counters, 1)
    assert (counters == 0).all()
