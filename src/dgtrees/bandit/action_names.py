"""What actions are called, which of them may be taken, and which are alike.

A learner numbers its actions; this module owns their names, the ones that have been retired, and
their features, from which a new action learns whom it resembles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.live_columns import LiveColumns

__all__ = ["ActionNames", "Name"]

Name = int | str
MOST_ACTIONS = 100_000
_ADVICE = ": log what decide returns"


class ActionNames:
    """Names of actions in the learner's order: all text, or all whole numbers.

    >>> names = ActionNames(["mail", "gift", "call"])
    >>> names.retire("gift")
    >>> names.mask(None).tolist(), names.index("call")
    ([True, False, True], 2)
    """

    def __init__(self, names: Iterable[Any]) -> None:
        self.names: list[Name] = []
        self.retired: set[Name] = set()
        self.features: dict[Name, dict[str, Any]] = {}
        self._place: dict[Name, int] = {}
        for name in names:
            self._append(self.read(name))
        if not 2 <= len(self.names) <= MOST_ACTIONS:
            raise ValueError(
                f"actions must be from 2 to {MOST_ACTIONS} names, got {len(self.names)}: name all"
            )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def numbered(self) -> bool:
        """Whether actions are called 0, 1, 2, .. as the learner numbers them."""
        return self.names == list(range(len(self.names)))

    @property
    def active(self) -> list[Name]:
        """Names that have not been retired."""
        return [name for name in self.names if name not in self.retired]

    def read(self, name: Any) -> Name:
        """A new name, checked against those that there are."""
        name = name.item() if isinstance(name, np.generic) else name
        wanted = type(self.names[0]) if self.names else None
        if type(name) not in (int, str) or (wanted is not None and type(name) is not wanted):
            kind = {None: "text or whole numbers", int: "whole numbers", str: "text"}[wanted]
            raise ValueError(f"names of actions must be all {kind}, got {shown(name)}: rename it")
        if isinstance(name, int) and not 0 <= name < 2**31:
            raise ValueError(f"numbers of actions must be from 0 to 2**31 - 1, got {name}")
        if isinstance(name, str) and (not name or not _encodable(name)):
            raise ValueError(f"names of actions must be text of some length, got {shown(name)}")
        if name in self._place:
            raise ValueError(
                f"actions must have different names, got {shown(name)} twice: choose another"
            )
        return name  # type: ignore[no-any-return]

    def _append(self, name: Name) -> None:
        self._place[name] = len(self.names)
        self.names.append(name)

    def index(self, name: Any, advice: str = _ADVICE) -> int:
        """The learner's number of an action."""
        place = self._place.get(name) if type(name) in (int, str) else None
        if place is not None:
            return place
        if isinstance(name, np.generic):
            return self.index(name.item(), advice)
        if self.numbered:
            return whole_number("action", name, 0, len(self.names) - 1, advice)
        raise ValueError(
            f"action must be one of {shown(self.names)}, got {shown(name)}: "
            "call add_action for a new one"
        )

    def mask(self, allowed: Iterable[Any] | None) -> np.ndarray:
        """Which actions may be taken, (actions,); all that are not retired unless told."""
        if allowed is None:
            mask = np.ones(len(self.names), dtype=bool)
            for name in self.retired:
                mask[self._place[name]] = False
            return mask
        if isinstance(allowed, (str, bytes)) or not isinstance(allowed, Iterable):
            raise ValueError(
                f"allowed must be a list of names of actions, got {shown(allowed)}: "
                "give ['...'] for a single one"
            )
        mask = np.zeros(len(self.names), dtype=bool)
        for name in allowed:
            place = self.index(name, "")
            if self.names[place] in self.retired:
                raise ValueError(
                    f"allowed must hold actions in use, got {shown(name)}, which was retired: "
                    "leave it out, or add_action it again"
                )
            mask[place] = True
        if not mask.any():
            raise ValueError("allowed must name at least one action, got none: leave it out")
        return mask

    def add(self, name: Any, features: Mapping[str, Any] | None) -> np.ndarray | None:
        """Append an action; the weights (actions before,) of those it resembles, if known.

        A retired name is taken into use again, and the weights are then empty.
        """
        plain = name.item() if isinstance(name, np.generic) else name
        if type(plain) in (int, str) and plain in self.retired:
            told = self._read_features(features)
            self.retired.discard(plain)
            if told is not None:
                self.features[plain] = told
            return np.empty(0)
        name = self.read(name)
        if len(self.names) >= MOST_ACTIONS:
            raise ValueError(f"there may be at most {MOST_ACTIONS} actions, got one more: retire")
        told = self._read_features(features)
        weights = None if told is None else self._resemblance(told)
        self._append(name)
        if told is not None:
            self.features[name] = told
        return weights

    def describe(self, features: Any) -> None:
        """Take in the features of present actions: a dict of dicts."""
        if not isinstance(features, Mapping):
            raise ValueError(
                f"action_features must be a dict of a dict per action, got {shown(features)}"
            )
        told = {self.names[self.index(n, "")]: self._read_features(f) for n, f in features.items()}
        self.features |= {name: cells for name, cells in told.items() if cells is not None}

    def retire(self, name: Any) -> None:
        """Take an action out of use."""
        known = self.names[self.index(name, "")]
        if known in self.retired:
            raise ValueError(f"action must be in use to be retired, got {shown(name)} again")
        if len(self.active) < 2:
            raise ValueError(
                f"one action must stay in use, got {shown(name)}, the last: add another first"
            )
        self.retired.add(known)

    def _read_features(self, features: Any) -> dict[str, Any] | None:
        if features is None:
            return None
        if not isinstance(features, Mapping):
            raise ValueError(f"features of an action must be a dict, got {shown(features)}")
        cells = LiveColumns().read(features)
        assert isinstance(cells, dict)  # a mapping is never a plain row
        return cells

    def _resemblance(self, features: dict[str, Any]) -> np.ndarray | None:
        """Weights (actions,) that fall with the distance of features; they add up to 1.

        Numbers are compared in their standard deviations over all actions, texts as equal or not.
        The nearest action with features counts most: a distance greater by 1 counts e times less.
        """
        known = [name for name in self.names if name in self.features]
        if not known:
            return None
        columns = LiveColumns()
        for name in known:
            columns.grow(self.features[name])
        columns.grow(features)
        table = np.array([columns.encode(self.features[n]) for n in known])
        row = columns.encode(features)
        scale = np.vstack([table, row]).std(axis=0)
        apart = (table - row) / np.where(scale > 0, scale, 1.0)
        distance = np.sqrt((apart**2).sum(axis=1))
        near = np.exp(-(distance - distance.min()))
        weights = np.zeros(len(self.names))
        weights[[self._place[name] for name in known]] = near / near.sum()
        return weights

    # Files

    def to_json(self) -> dict[str, Any]:
        """Everything, as a file holds it."""
        return {
            "names": list(self.names),
            "retired": [name for name in self.names if name in self.retired],
            "features": [[name, cells] for name, cells in self.features.items()],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> ActionNames:
        """What `to_json` described."""
        found = cls(told["names"])
        for name in told["retired"]:
            found.retire(name)
        found.describe(dict(told["features"]))
        return found


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True
