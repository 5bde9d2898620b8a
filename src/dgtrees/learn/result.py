"""What a training run did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Callback", "TrainingResult"]


@dataclass
class TrainingResult:
    """What a training run did: one entry of `history` an epoch."""

    history: dict[str, list[float]] = field(default_factory=dict)
    n_epochs: int = 0
    best_epoch: int = 0
    best_score: float | None = None
    best_rank: tuple[float, ...] = ()
    stopped_early: bool = False


Callback = Callable[[int, int, dict[str, float]], "bool | None"]
"""Called after every epoch with its number, the number of all, and its metrics; True stops."""
