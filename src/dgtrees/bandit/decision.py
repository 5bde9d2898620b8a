"""What `decide` returns and `learn` takes back: small, frozen, and loggable as one line of JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import numpy as np

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.ids import read_id
from dgtrees.model.notebook import html_table

__all__ = ["ContinuousDecision", "Decision", "SlateDecision", "check_probability"]

_ADVICE = ": log what decide returns"
_LOGGED = ": log what to_json returns"
_LATER = ("id", "probabilities")  # fields that decisions of earlier releases do not have


Name = int | str


class Decision(NamedTuple):
    """One of finitely many actions, with everything `learn` needs besides the row and the loss.

    >>> Decision(2, 0.8, "a1b2", 17).to_json()
    '{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}'
    >>> Decision.from_json('{"action": 2, "probability": 0.8, "policy": "a1b2", "number": 17}')[:4]
    (2, 0.8, 'a1b2', 17)
    """

    action: Any  # int or str; Any, so that callers may compute with numbers
    probability: float
    """With which the action was drawn; what the loss of a rarely drawn action counts by."""
    policy: str = ""
    """Name of the policy that decided; baselines have none."""
    number: int = 0
    """How many decisions that policy had taken, this one included."""
    id: str = ""
    """Unique, and in the order of time: see `dgtrees.bandit.ids`; baselines give none."""
    probabilities: dict[Any, float] | None = None
    """With which each of the allowed actions was drawn, by name."""

    def check(self, n_actions: int) -> None:
        """Refuse what no policy of so many actions can have decided."""
        whole_number("action", self.action, 0, n_actions - 1, _ADVICE)
        self.check_probability()

    def check_probability(self) -> None:
        """Refuse what is no probability of something that has happened."""
        check_probability(self.probability)

    def to_json(self) -> str:
        """The decision as JSON; fields that say nothing are left out."""
        return json.dumps(_plain(self), ensure_ascii=False, default=_number)

    def _repr_html_(self) -> str:
        chances = self.probabilities or {self.action: self.probability}
        rows = ((name, f"{p:.3g}", "taken" * (name == self.action)) for name, p in chances.items())
        return html_table(["action", "probability", ""], rows)

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> Decision:
        """The decision that `to_json` wrote; other fields of the object are ignored.

        Decisions logged by earlier releases have neither `id` nor `probabilities`.
        """
        found = _read_fields(cls, text)
        action = _read_action(found["action"])
        chances = _read_chances(found.get("probabilities"), type(action))
        if chances and action not in chances:
            raise ValueError(
                f"probabilities must have the action {shown(action)}, got {shown(list(chances))}"
                f"{_LOGGED}"
            )
        return cls(
            action,
            number("probability", found["probability"], _LOGGED),
            *_read_origin(found),
            _read_id(found.get("id", "")),
            chances,
        )


class SlateDecision(NamedTuple):
    """Several different actions at once, as ``decide(context, k=3)`` draws them.

    >>> d = SlateDecision(("mail", "gift"), {"mail": 1.0, "gift": 0.6, "call": 0.4}, "a1b2", 1)
    >>> SlateDecision.from_json(d.to_json()) == d, d.probability_of("gift")
    (True, 0.6)
    """

    actions: tuple[Any, ...]
    probabilities: dict[Any, float]
    """Of every allowed action to be among the actions: exact, and adding up to their number."""
    policy: str = ""
    number: int = 0
    id: str = ""

    def probability_of(self, action: Any) -> float:
        """How likely one of the actions was to be among them."""
        if action not in self.actions or action not in self.probabilities:
            raise ValueError(f"action must be one of {self.actions}, got {shown(action)}{_ADVICE}")
        return self.probabilities[action]

    def to_json(self) -> str:
        """The decision as JSON."""
        return json.dumps(_plain(self), ensure_ascii=False, default=_number)

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> SlateDecision:
        """The decision that `to_json` wrote; other fields of the object are ignored."""
        found = _read_fields(cls, text)
        actions = found["actions"]
        if not isinstance(actions, (list, tuple)) or not actions:
            raise ValueError(f"actions must be a list of actions, got {shown(actions)}{_LOGGED}")
        names = tuple(_read_action(action) for action in actions)
        chances = _read_chances(found["probabilities"], type(names[0])) or {}
        if len(set(names)) != len(names) or not set(names) <= set(chances):
            raise ValueError(
                f"actions must differ and have probabilities, got {shown(actions)}{_LOGGED}"
            )
        return cls(names, chances, *_read_origin(found), _read_id(found.get("id", "")))


def check_probability(probability: Any) -> float:
    """A probability of something that has happened."""
    value = number("probability", probability, _ADVICE)
    if not 0.0 < value <= 1.0:
        raise ValueError(f"probability must be above 0 and at most 1, got {probability!r}{_ADVICE}")
    return value


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


def _plain(decision: Any) -> dict[str, Any]:
    told = decision._asdict()
    return {name: value for name, value in told.items() if name not in _LATER or value}


def _number(value: Any) -> Any:
    """A number of NumPy's as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a decision must hold texts and numbers, got {shown(value)}{_ADVICE}")


def _read_fields(kind: Any, text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, (str, bytes)) else text
    except (ValueError, RecursionError):
        found = None
    needed = [name for name in kind._fields if name not in _LATER or kind is SlateDecision]
    needed = [name for name in needed if name != "id"]
    if not isinstance(found, dict) or any(name not in found for name in needed):
        raise ValueError(
            f"a logged {kind.__name__} has the fields {', '.join(needed)}, "
            f"got {shown(text)}{_LOGGED}"
        )
    return {name: found[name] for name in kind._fields if name in found}


def _read_action(action: Any) -> Name:
    if isinstance(action, str) and action:
        return action
    return whole_number("action", action, 0, 2**31, _LOGGED)


def _read_id(id: Any) -> str:
    if id != "":
        try:
            read_id(id)
        except ValueError as error:
            raise ValueError(f"{error}{_LOGGED}") from None
    return str(id)


def _read_chances(told: Any, kind: type) -> dict[Any, float] | None:
    """Probabilities by name; in JSON all names are text."""
    if told is None:
        return None
    if not isinstance(told, dict):
        raise ValueError(f"probabilities must be by action, got {shown(told)}{_LOGGED}")
    found: dict[Any, float] = {}
    for name, chance in told.items():
        value = number("probabilities", chance, _LOGGED)
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"probabilities must be from 0 to 1, got {value!r}{_LOGGED}")
        if kind is int and isinstance(name, str):
            if not re.fullmatch(r"0|[1-9][0-9]{0,9}", name):
                raise ValueError(f"probabilities must be by number, got {shown(name)}{_LOGGED}")
            name = int(name)
        found[name] = value
    return found


def _read_origin(found: dict[str, Any]) -> tuple[str, int]:
    """Policy and number of a logged decision."""
    policy = found["policy"]
    if not isinstance(policy, str):
        raise ValueError(f"policy must be the name of a policy, got {shown(policy)}{_LOGGED}")
    return policy, whole_number("number", found["number"], 0, 2**63 - 1, _LOGGED)
