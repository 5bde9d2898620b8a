"""What `decide` returns and `learn` takes back: small, frozen, and loggable as one line of JSON."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from dgtrees.bandit.checks import number, shown, whole_number

__all__ = ["ContinuousDecision", "Decision"]

_ADVICE = ": log what to_json returns"


class Decision(NamedTuple):
    """An action of a `DGTBandit`, with everything `learn` needs besides the row and the loss.

    >>> Decision(2, 0.8, "a1b2", 17).to_json()
    '{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}'
    >>> Decision.from_json('{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}')
    Decision(action=2, probability=0.8, policy='a1b2', number=17)
    """

    action: int
    probability: float
    """With which the action was drawn; what the loss of a rarely drawn action counts by."""
    policy: str
    """Name of the policy that decided."""
    number: int
    """How many decisions that policy had taken, this one included."""

    def to_json(self) -> str:
        """The decision as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> Decision:
        """The decision that `to_json` wrote; other fields of the object are ignored."""
        found = _fields(cls, text)
        return cls(
            whole_number("action", found["action"], 0, 2**31, _ADVICE),
            number("probability", found["probability"], _ADVICE),
            *_origin(found),
        )


class ContinuousDecision(NamedTuple):
    """The action, or pair of actions, of a `DGTContinuousBandit`.

    >>> d = ContinuousDecision((4.5, 5.5), 5.0, "a1b2", 1)
    >>> ContinuousDecision.from_json(d.to_json()) == d
    True
    """

    actions: tuple[float, ...]
    centre: float
    """What the tree itself would have answered; actions are tried beside it."""
    policy: str
    number: int

    @property
    def action(self) -> float:
        """The action; of a pair, the first."""
        return self.actions[0]

    def to_json(self) -> str:
        """The decision as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> ContinuousDecision:
        """The decision that `to_json` wrote; other fields of the object are ignored."""
        found = _fields(cls, text)
        actions = found["actions"]
        if not isinstance(actions, (list, tuple)) or len(actions) not in (1, 2):
            raise ValueError(f"actions must be one number or two, got {shown(actions)}{_ADVICE}")
        return cls(
            tuple(number("actions", action, _ADVICE) for action in actions),
            number("centre", found["centre"], _ADVICE),
            *_origin(found),
        )


def _fields(kind: Any, text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, (str, bytes)) else text
    except (ValueError, RecursionError):
        found = None
    missing = [name for name in kind._fields if not isinstance(found, dict) or name not in found]
    if missing:
        raise ValueError(
            f"a logged {kind.__name__} has the fields {', '.join(kind._fields)}, "
            f"got {shown(text)}: log what to_json returns"
        )
    return {name: found[name] for name in kind._fields}


def _origin(found: dict[str, Any]) -> tuple[str, int]:
    """Policy and number of a logged decision."""
    policy = found["policy"]
    if not isinstance(policy, str):
        raise ValueError(f"policy must be the name of a policy, got {shown(policy)}{_ADVICE}")
    return policy, whole_number("number", found["number"], 0, 2**63 - 1, _ADVICE)
