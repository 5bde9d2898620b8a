"""Seconds of a call, for several works that take turns.

Single seconds on a shared machine mean little. What is compared runs in blocks, one work's after
the other's, again and again; the median over rounds is reported, and ratios are of blocks of the
same round.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

__all__ = ["Times", "alternate", "side_by_side"]

Work = Callable[[], object]


class Times(dict[str, np.ndarray]):
    """Seconds a call by name, one for every round."""

    def median(self, name: str) -> float:
        return float(np.median(self[name]))

    def ratio(self, name: str, to: str) -> float:
        """How many times longer `name` takes than `to`."""
        return float(np.median(self[name] / self[to]))


def alternate(
    works: dict[str, Work],
    rounds: int,
    seconds: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Rounds of one block of calls for each work; a block lasts about `seconds`.

    Blocks, because each runs many times in a row in use, and because the first calls of a block
    still share the cores with the idling threads of the work before.
    """
    calls = {name: _calls(work, seconds) for name, work in works.items()}
    times = Times({name: np.empty(rounds) for name in works})
    for i in range(rounds):
        for name, work in works.items():
            if calls[name] > 1:
                work()  # back into the caches
            started = clock()
            for _ in range(calls[name]):
                work()
            times[name][i] = (clock() - started) / calls[name]
    return times


def _calls(work: Work, seconds: float) -> int:
    work()  # compiles, allocates, starts threads
    started, calls = time.perf_counter(), 0
    while (gone := time.perf_counter() - started) < seconds:
        work()
        calls += 1
    return max(1, int(calls * seconds / gone)) if calls else 1


def side_by_side(
    first: Work, second: Work, rounds: int = 9, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float, float]:
    """Median seconds of a call of each, and how many times longer the first one takes."""
    times = alternate({"first": first, "second": second}, rounds, clock=clock)
    return times.median("first"), times.median("second"), times.ratio("first", "second")
