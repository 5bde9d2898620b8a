"""Arguments of policies, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.feedback import Range, check_range

__all__ = ["pair_up", "read_half_life", "read_names", "read_range"]


def read_names(n_actions: Any, actions: Any) -> list[Any]:
    """Names of actions: those given, or numbers from 0.

    >>> read_names(3, None)
    [0, 1, 2]
    """
    if (n_actions is None) == (actions is None):
        both = "both" if actions is not None else "neither"
        raise ValueError(f"a policy needs actions or n_actions, got {both}: give one of them")
    if actions is None:
        names = ": name actions by actions=[...], or say how many there are"
        return list(range(whole_number("n_actions", n_actions, 2, 100_000, names)))
    if isinstance(actions, (str, bytes)) or not isinstance(actions, Iterable):
        raise ValueError(f"actions must be a list of names, got {shown(actions)}: name each")
    if isinstance(actions, (Set, Mapping)):  # a set has an order of its own in every process
        raise ValueError(
            f"actions must be a list of names, got {shown(actions)}: give a list, and what is "
            "known of actions as action_features="
        )
    return list(actions)


def read_range(given: Any, is_tree: bool) -> Range | None:
    """The range of losses; an online tree has one, 0 to 1 unless told."""
    if given is None:
        return (0.0, 1.0) if is_tree else None
    if not (isinstance(given, (tuple, list, np.ndarray)) and len(given) == 2):
        raise ValueError(f"loss_range must be a pair of numbers, got {shown(given)}")
    return check_range("loss_range", *given)


def read_half_life(given: Any, is_tree: bool) -> float | None:
    """Answers after which an answer counts half; none for an online tree."""
    if given is None:
        return None
    if is_tree:
        raise ValueError(
            f"half_life is for the default recipe, got {shown(given)} for an online tree: "
            "leave it out, or leave recipe, leaf and explore out"
        )
    value = number("half_life", given)
    if not 10.0 <= value < np.inf:
        raise ValueError(f"half_life must be at least 10 answers, got {shown(given)}")
    return value


def pair_up(X: Any, decisions: Any, losses: Any) -> tuple[Any, list[Any], list[Any]]:
    """Equally many rows, decisions and losses; what is no array or frame becomes a list."""
    try:
        X = X if hasattr(X, "shape") else list(X)
        decisions, losses = list(decisions), list(losses)
        lengths = len(X), len(decisions), len(losses)
    except TypeError:
        raise ValueError(
            f"rows, decisions and losses must be sequences, got {shown(X)}, "
            f"{shown(decisions)}, {shown(losses)}: call learn for a single answer"
        ) from None
    if len(set(lengths)) != 1:
        raise ValueError(
            "rows, decisions and losses must be equally many, got " + ", ".join(map(str, lengths))
        )
    return X, decisions, losses
