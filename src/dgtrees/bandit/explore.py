"""Which action is tried, and with what probability.

Each rule turns the scores of the actions (higher is better; sigmoid(score) is the share of the
loss range that the policy expects to be spared) into probabilities, exactly: what `decide` reports
is what the action was drawn with. The arithmetic is `tree.online.action_probabilities`, one
compiled function for all rules; the classes here name the rules and check their numbers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from dgtrees.bandit.checks import number, shown
from dgtrees.tree import online

__all__ = ["DecayingEpsilon", "Epsilon", "Exploration", "Greedy", "InverseGap", "Softmax"]


class Exploration:
    """Base of the rules."""

    rule: ClassVar[str]

    def numbers(self) -> tuple[float, float]:
        """The rule's one or two numbers, as the compiled step takes them."""
        raise NotImplementedError

    def probabilities(self, scores: Any, seen: int = 0) -> np.ndarray:
        """Probability of every action, given its score and the answered queries so far."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        result = np.empty_like(scores)
        code = online.EXPLORATION[self.rule]
        online.action_probabilities(scores, code, *self.numbers(), seen, result)
        return result

    def to_json(self) -> dict[str, Any]:
        """Name and numbers."""
        return {"rule": self.rule, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Epsilon(Exploration):
    """The best action, or with probability `delta` any of them: eqn:explore.

    >>> Epsilon(0.3).probabilities([0.0, 2.0, 1.0]).round(3)
    array([0.1, 0.8, 0.1])
    """

    delta: float = 0.3
    rule: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        _within(self, "delta", 0.0, 1.0)

    def numbers(self) -> tuple[float, float]:
        """See the base class."""
        return float(self.delta), 0.0


@dataclass(frozen=True)
class DecayingEpsilon(Exploration):
    """Epsilon with delta = max(floor, half / (half + n)) after n answered queries.

    >>> DecayingEpsilon(half=100, floor=0.1).probabilities([0.0, 1.0], seen=100)
    array([0.25, 0.75])
    """

    half: float = 1000.0
    floor: float = 0.05
    rule: ClassVar[str] = "decaying"

    def __post_init__(self) -> None:
        _within(self, "half", 1e-9, 1e300)
        _within(self, "floor", 0.0, 1.0)

    def numbers(self) -> tuple[float, float]:
        """See the base class."""
        return float(self.half), float(self.floor)


@dataclass(frozen=True)
class Softmax(Exploration):
    """Probabilities in proportion to exp(score / temperature).

    >>> Softmax(1.0).probabilities([0.0, 0.0])
    array([0.5, 0.5])
    """

    temperature: float = 1.0
    rule: ClassVar[str] = "softmax"

    def __post_init__(self) -> None:
        _within(self, "temperature", 1e-3, 1e300)

    def numbers(self) -> tuple[float, float]:
        """See the base class."""
        return float(self.temperature), 0.0


@dataclass(frozen=True)
class InverseGap(Exploration):
    """SquareCB: an action with expected loss g above the best has probability 1 / (K + gamma g).

    After n answered queries gamma is `scale` (1 + n)^`exponent`; the best action has the rest.

    >>> InverseGap(scale=10, exponent=0).probabilities([0.0, 0.0, 100.0]).round(3)
    array([0.125, 0.125, 0.75 ])
    """

    scale: float = 1.0
    exponent: float = 0.5
    rule: ClassVar[str] = "inverse_gap"

    def __post_init__(self) -> None:
        _within(self, "scale", 0.0, 1e300)
        _within(self, "exponent", 0.0, 10.0)

    def numbers(self) -> tuple[float, float]:
        """See the base class."""
        return float(self.scale), float(self.exponent)


@dataclass(frozen=True)
class Greedy(Exploration):
    """Always the best action; of equally good ones the first.

    >>> Greedy().probabilities([1.0, 1.0])
    array([1., 0.])
    """

    rule: ClassVar[str] = "greedy"

    def numbers(self) -> tuple[float, float]:
        """See the base class."""
        return 0.0, 0.0


_RULES: dict[str, type[Exploration]] = {
    kind.rule: kind for kind in (Epsilon, DecayingEpsilon, Softmax, InverseGap, Greedy)
}


def exploration(rule: Any) -> Exploration:
    """A rule from itself, its name, or what `to_json` returned."""
    if isinstance(rule, Exploration):
        return rule
    fields = dict(rule) if isinstance(rule, dict) else {"rule": rule}
    name = fields.pop("rule", None)
    known = isinstance(name, str) and name in _RULES
    if not known or not set(fields) <= set(_RULES[name].__dataclass_fields__):  # type: ignore[attr-defined]
        raise ValueError(
            f"explore must be a rule of dgtrees.bandit or one of {', '.join(_RULES)}, "
            f"got {shown(rule)}"
        )
    return _RULES[name](**fields)


def _within(rule: Exploration, name: str, low: float, high: float) -> None:
    """Make a rule's number a float, or refuse it."""
    given = getattr(rule, name)
    value = number(name, given)
    if not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {given!r}")
    object.__setattr__(rule, name, value)  # the dataclass is frozen
