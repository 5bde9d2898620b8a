"""What `decide` returns and `learn` takes back: small, frozen, and loggable as one line of JSON."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from dgtrees.bandit.checks import number, shown, whole_number

__all__ = ["ContinuousDecision", "Decision"]

_ADVICE = ": log what decide returns"
_LOGGED = ": log what to_json returns"


class Decision(NamedTuple):
    """One of finitely many actions, with everything `learn` needs besides the row and the loss.

    >>> Decision(2, 0.8, "a1b2", 17).to_json()
    '{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}'
    >>> Decision.from_json('{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}')
    Decision(action=2, probability=0.8, policy='a1b2', number=17)
    """

    action: int
    probability: float
    """With which the action was drawn; what the loss of a rarely drawn action counts by."""
    policy: str = ""
    """Name of the policy that decided; baselines have none."""
    number: int = 0
    """How many decisions that policy had taken, this one included."""

    def check(self, n_actions: int) -> None:
        """Refuse what no policy of so many actions can have decided."""
        whole_number("action", self.action, 0, n_actions - 1, _ADVICE)
        if not 0.0 < number("probability", self.probability, _ADVICE) <= 1.0:
            raise ValueError(
                f"probability must be above 0 and at most 1, got {self.probability!r}{_ADVICE}"
            )

    def to_json(self) -> str:
        """The decision as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> Decision:
        """The decision that `to_json` wrote; other fields of the object are ignored."""
        found = _read_fields(cls, text)
        return cls(
            whole_number("action", found["action"], 0, 2**31, _LOGGED),
            number("probability", found["probability"], _LOGGED),
            *_read_origin(found),
        )


class ContinuousDecision(NamedTuple):
    """An action that is a number, or the pair of them to try.

    >>> d = ContinuousDecision((4.5, 5.5), 5.0, "a1b2", 1)
    >>> ContinuousDecision.from_json(d.to_json()) == d
    True
    """

    actions: tuple[float, ...]
    centre: float
    """What the policy itself would have answered; actions are tried beside it."""
    policy: str = ""
    number: int = 0

    @property
    def action(self) -> float:
        """The action; of a pair, the first."""
        return self.actions[0]

    def step(self, half: float) -> float:
        """From the centre to the first action, where actions go from -1 to 1.

        `half` is half of the range of the actions as they are.
        """
        if len(self.actions) == 2:
            return (self.actions[0] - self.actions[1]) / (2.0 * half)
        return (self.action - self.centre) / half

    def check(self, points: int, low: float, high: float) -> None:
        """Refuse what is not so many actions between bounds, on both sides of their centre."""
        if not isinstance(self.actions, tuple) or len(self.actions) != points:
            raise ValueError(
                f"a decision of {('one', 'two')[points - 1]}-point feedback has {points} "
                f"action(s), got {shown(self.actions)}{_ADVICE}"
            )
        for action in (*self.actions, self.centre):
            if not low <= number("actions", action, _ADVICE) <= high:
                raise ValueError(
                    f"actions must lie between {low:g} and {high:g}, got {action!r}{_ADVICE}"
                )
        # Our own steps of half the range may be rounded to a little more.
        if not 1e-9 < abs(self.step(0.5 * (high - low))) <= 1.0 + 1e-9:
            raise ValueError(
                f"actions must differ from their centre {self.centre!r}, "
                f"got {self.actions!r}{_ADVICE}"
            )
        steps = [action - self.centre for action in self.actions]
        if points == 2 and abs(steps[0] + steps[1]) > 0.01 * abs(steps[0] - steps[1]):
            raise ValueError(  # up to a hundredth may be rounding
                f"two actions must have their centre {self.centre!r} in the middle, "
                f"got {self.actions!r}{_ADVICE}"
            )

    def to_json(self) -> str:
        """The decision as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> ContinuousDecision:
        """The decision that `to_json` wrote; other fields of the object are ignored."""
        found = _read_fields(cls, text)
        actions = found["actions"]
        if not isinstance(actions, (list, tuple)) or len(actions) not in (1, 2):
            raise ValueError(f"actions must be one number or two, got {shown(actions)}{_LOGGED}")
        return cls(
            tuple(number("actions", action, _LOGGED) for action in actions),
            number("centre", found["centre"], _LOGGED),
            *_read_origin(found),
        )


def _read_fields(kind: Any, text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, (str, bytes)) else text
    except (ValueError, RecursionError):
        found = None
    missing = [name for name in kind._fields if not isinstance(found, dict) or name not in found]
    if missing:
        raise ValueError(
            f"a logged {kind.__name__} has the fields {', '.join(kind._fields)}, "
            f"got {shown(text)}{_LOGGED}"
        )
    return {name: found[name] for name in kind._fields}


def _read_origin(found: dict[str, Any]) -> tuple[str, int]:
    """Policy and number of a logged decision."""
    policy = found["policy"]
    if not isinstance(policy, str):
        raise ValueError(f"policy must be the name of a policy, got {shown(policy)}{_LOGGED}")
    return policy, whole_number("number", found["number"], 0, 2**63 - 1, _LOGGED)
