"""Which action is tried, and with what probability.

Each rule turns the scores of the actions (higher is better; sigmoid(score) is the share of the
loss range that the policy expects to be spared) into probabilities, exactly: what `decide` reports
is what the action was drawn with. The arithmetic is `tree.exploration.action_probabilities`, one
compiled function for all rules; the classes here name the rules and check their numbers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dgtrees.schema import check_fields, number, shown
from dgtrees.tree.exploration import EXPLORATION, action_probabilities

__all__ = [
    "DecayingEpsilon",
    "Epsilon",
    "Exploration",
    "Greedy",
    "InverseGap",
    "Softmax",
    "check_rule",
    "find_rule",
]


class Exploration:
    """Base of the rules."""

    rule: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)

    def numbers(self) -> tuple[float, float]:
        """The rule's numbers, two at most, as the compiled step takes them."""
        first, second = (*asdict(self).values(), 0.0, 0.0)[:2]  # type: ignore[call-overload]
        return first, second

    def probabilities(self, scores: Any, seen: int = 0) -> np.ndarray:
        """Probability of every action, given its score and the answered queries so far."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        result = np.empty_like(scores)
        action_probabilities(scores, EXPLORATION[self.rule], *self.numbers(), seen, result)
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

    delta: Annotated[float, number(0.0, 1.0)] = 0.3
    rule: ClassVar[str] = "epsilon"


@dataclass(frozen=True)
class DecayingEpsilon(Exploration):
    """Epsilon with delta = max(floor, half / (half + n)) after n answered queries.

    >>> DecayingEpsilon(half=100, floor=0.1).probabilities([0.0, 1.0], seen=100)
    array([0.25, 0.75])
    """

    half: Annotated[float, number(1e-9, 1e300)] = 1000.0
    floor: Annotated[float, number(0.0, 1.0)] = 0.05
    rule: ClassVar[str] = "decaying"


@dataclass(frozen=True)
class Softmax(Exploration):
    """Probabilities in proportion to exp(score / temperature).

    >>> Softmax(1.0).probabilities([0.0, 0.0])
    array([0.5, 0.5])
    """

    temperature: Annotated[float, number(1e-3, 1e300)] = 1.0
    rule: ClassVar[str] = "softmax"


@dataclass(frozen=True)
class InverseGap(Exploration):
    """SquareCB: an action with expected loss g above the best has probability 1 / (K + gamma g).

    After n answered queries gamma is `scale` (1 + n)^`exponent`; the best action has the rest.

    >>> InverseGap(scale=10, exponent=0).probabilities([0.0, 0.0, 100.0]).round(3)
    array([0.125, 0.125, 0.75 ])
    """

    scale: Annotated[float, number(0.0, 1e300)] = 1.0
    exponent: Annotated[float, number(0.0, 10.0)] = 0.5
    rule: ClassVar[str] = "inverse_gap"


@dataclass(frozen=True)
class Greedy(Exploration):
    """Always the best action; of equally good ones the first.

    >>> Greedy().probabilities([1.0, 1.0])
    array([1., 0.])
    """

    rule: ClassVar[str] = "greedy"


_RULES: dict[str, type[Exploration]] = {
    kind.rule: kind for kind in (Epsilon, DecayingEpsilon, Softmax, InverseGap, Greedy)
}


def find_rule(rule: Any) -> Exploration:
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


def check_rule(value: Any, name: str) -> None:
    """Refuse what is no rule."""
    if not isinstance(value, Exploration):
        raise ValueError(f"{name} must be a rule of dgtrees.bandit, got {shown(value)}")
