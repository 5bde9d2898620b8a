"""Which learner a policy is built on: by name, as its arguments and its file say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgtrees.bandit.mixed_learner import MixedLearner

__all__ = ["LEARNERS", "find_learner"]

LEARNERS: dict[str, Callable[..., Any]] = {"default": MixedLearner}
"""Classes of learners (`dgtrees.bandit.learner`) by the name of their recipe."""


def find_learner(name: Any) -> Callable[..., Any] | None:
    """The learner of a recipe; None for recipes of the online tree."""
    return LEARNERS.get(name) if isinstance(name, str) else None
