"""Policies in processes that fork: every child explores for itself.

A server that loads a policy and then forks its workers would have workers that all draw the same
actions. So a forked child draws new seeds and new ids from the system, for every policy it
inherits; `DGTBandit.fork(seed)` is for draws that can be repeated. No policy is copied in the
middle of an update: the fork waits until all are whole.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["watch"]


class _Forked(Protocol):
    _lock: Any

    def _explore_anew(self) -> None: ...


_ALIVE: WeakSet[Any] = WeakSet()
_HELD: list[_Forked] = []


def watch(policy: _Forked) -> None:
    """Renew a policy in every child that inherits it."""
    _ALIVE.add(policy)


def _before() -> None:
    for policy in list(_ALIVE):
        policy._lock.acquire()
        _HELD.append(policy)


def _after_in_parent() -> None:
    while _HELD:
        _HELD.pop()._lock.release()


def _after_in_child() -> None:
    while _HELD:
        policy = _HELD.pop()
        policy._lock = threading.Lock()
        policy._explore_anew()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
