"""Pace: whether threads pay, found out by timing."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Pace"]


@dataclass
class Pace:
    """How many threads an epoch takes: all of them, or one where that is faster.

    Threads that wait for each other lose on a busy machine. Since the result is the same, both ways
    are timed, and the slower one is tried again now and then.
    """

    most: int
    epochs: int = 0
    seconds: dict[int, float] = field(default_factory=dict)

    def choose(self) -> int:
        """Threads of the next epoch."""
        self.epochs += 1
        if self.most == 1 or not self.seconds:
            return self.most
        if len(self.seconds) == 1:
            return 1
        fast = min(self.seconds, key=lambda threads: self.seconds[threads])
        return self.most + 1 - fast if self.epochs % 16 == 0 else fast

    def note(self, threads: int, seconds: float) -> None:
        """How long an epoch took."""
        self.seconds[threads] = seconds
