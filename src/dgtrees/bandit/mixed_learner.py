"""MixedLearner: least squares and neighbours, stacked, that lead from the first answers on.

The arithmetic is compiled, see `dgtrees.tree.mixed_step`; here are sizes, growth and files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.checks import number, whole_number
from dgtrees.bandit.mixed_checks import check_state
from dgtrees.bandit.mixed_growth import with_action, with_features, with_room
from dgtrees.bandit.mixed_pack import pack_arrays, unpack_arrays
from dgtrees.bandit.mixed_successor import tend
from dgtrees.tree import mixed_step
from dgtrees.tree.by_reference import Held
from dgtrees.tree.mixed_state import DECIDE, LEARN, Counts, Mixed, Told, make_mixed
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["MixedLearner"]

_FIRST_ROOM = 256
_LARGEST_LOG = 160_000_000  # bytes


class MixedLearner:
    """Learns what rewards to expect of actions, and draws actions by it.

    Rewards are predicted by a ridge regression per action, by one that has products of columns
    too, and by the first corrected by the nearest answers; a small regression learns what these
    three count. The action with the best prediction plus a bonus for uncertainty is drawn, or any,
    uniformly, with a share that decays to `least_explore`.

    Parameters
    ----------
    n_features, n_actions : int
    half_life : float, optional
        Answers after which an answer counts half, for worlds that drift; never by default.
    notice_change : bool
        Forget the answers before a sudden fall of rewards.
    bonus : float
        Standard errors of the linear prediction that an action is credited with, in deviations of
        the reward, times the root of the logarithm of the number of allowed actions.
    explore, least_explore : float
        Share of uniform draws: explore * sqrt(K / (K + answers)), but not below the least.
    capacity : int
        Answers that are remembered; fewer where rows are wide.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> learner = MixedLearner(2, 2, seed=0)
    >>> for _ in range(300):
    ...     x = rng.normal(size=2)
    ...     action, chances = learner.decide(x, np.ones(2, dtype=bool))
    ...     learner.learn(x, action, float(action == (x[0] > 0)), chances[action])
    >>> learner.expected(np.array([[1.0, 0.0], [-1.0, 0.0]])).argmax(axis=1)
    array([1, 0])
    """

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        *,
        half_life: float | None = None,
        notice_change: bool = True,
        bonus: float = 0.33,
        explore: float = 0.02,
        least_explore: float = 0.01,
        capacity: int = 100_000,
        seed: int = 0,
    ) -> None:
        features = whole_number("n_features", n_features, 1, 10**7)
        actions = whole_number("n_actions", n_actions, 1, 10**6)
        life = 0.0 if half_life is None else number("half_life", half_life)
        if half_life is not None and not 10.0 <= life < np.inf:
            raise ValueError(f"half_life must be at least 10 answers, got {half_life!r}")
        self.capacity = whole_number("capacity", capacity, 100, 10**9)
        told = Told(
            ridge=3.0,
            product_ridge=10.0,
            bonus=_within("bonus", bonus, 0.0, 1e6),
            explore=_within("explore", explore, 0.0, 1.0),
            least_explore=_within("least_explore", least_explore, 0.0, 1.0),
            half_life=life,
            notice_change=bool(notice_change),
        )
        self._held = Held(make_mixed(features, actions, self._room(features), told, seed))

    def _room(self, features: int, needed: int = 0) -> int:
        """Answers that the log has room for; doubles up to its largest size."""
        most = max(100, min(self.capacity, _LARGEST_LOG // (4 * features)))
        room = _FIRST_ROOM
        while room < needed:
            room *= 2
        return min(room, most)

    @property
    def _state(self) -> Mixed:
        state: Mixed = self._held.state
        return state

    @_state.setter
    def _state(self, state: Mixed) -> None:
        self._held = Held(state)

    @property
    def n_features(self) -> int:
        """Columns of a row."""
        return len(self._state.shift)

    @property
    def n_actions(self) -> int:
        """Actions, numbered from 0."""
        return len(self._state.total)

    @property
    def n_answers(self) -> int:
        """Answers learnt from."""
        return int(self._state.counts[Counts.SEEN])

    @property
    def n_changes(self) -> int:
        """Changes of the world that were noticed."""
        return int(self._state.counts[Counts.CHANGES])

    def decide(self, x: np.ndarray, allowed: np.ndarray) -> tuple[int, np.ndarray]:
        """The action drawn for one row, and the probabilities of all actions."""
        _check_allowed(allowed)
        mixed_step.score(self._held.table, x)
        action = mixed_step.choose(self._held.table, allowed, True)
        return int(action), self._state.probabilities.copy()

    def probabilities(self, x: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """The probabilities with which `decide` would now draw, shape (actions,)."""
        _check_allowed(allowed)
        mixed_step.score(self._held.table, x)
        mixed_step.choose(self._held.table, allowed, False)
        return self._state.probabilities.copy()

    def learn(self, x: np.ndarray, action: int, reward: float, probability: float) -> None:
        """Take in the reward of an action that was drawn for a row."""
        self._make_room(1)
        held = self._held
        mixed_step.score(held.table, x)
        if mixed_step.learn(held.table, x, int(action), float(reward), float(probability)):
            tend(held)

    def expected(self, X: np.ndarray) -> np.ndarray:
        """Expected rewards without exploration, shape (rows, actions)."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        out = np.empty((len(rows), self.n_actions))
        mixed_step.expected(self._held.table, rows, out)
        return out

    def stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, right: float, wrong: float
    ) -> np.ndarray:
        """Decide and learn for labelled rows in order, compiled; losses in their order."""
        losses = np.empty(len(order))
        rows = np.ascontiguousarray(X, dtype=np.float64)
        labels, order = np.asarray(y, dtype=np.int64), np.asarray(order, dtype=np.int64)
        allowed = np.ones(self.n_actions, dtype=bool)
        played = 0
        while played < len(order):  # up to the next answer that brings more work, or needs room
            self._make_room(1)
            free = len(self._state.log_rows) - self.n_answers
            end = min(played + free, len(order)) if free > 0 else len(order)
            played = mixed_step.play(
                self._held.table,
                rows,
                labels,
                order[:end],
                played,
                float(right),
                float(wrong),
                allowed,
                losses,
            )
            tend(self._held)
        return losses

    def _make_room(self, more: int) -> None:
        """Have room for more answers."""
        room = len(self._state.log_rows)
        if self.n_answers + more > room:
            larger = self._room(self.n_features, self.n_answers + more)
            if larger > room:
                self._state = with_room(self._state, larger)

    def add_features(self, count: int) -> None:
        """Append columns that were 0 so far."""
        count = whole_number("count", count, 0, 10**6)
        if count:
            self._state = with_features(self._state, self.n_features + count)

    def add_action(self, similar: np.ndarray | None) -> None:
        """Append an action; `similar` weighs the present ones that it starts from."""
        if similar is not None and len(similar) != self.n_actions:
            raise ValueError(
                f"similar must have one weight per action ({self.n_actions}), got {len(similar)}"
            )
        self._state = with_action(self._state, similar)

    def remembered(self, most: int) -> np.ndarray:
        """Rows of the newest answers that count, at most so many, shape (rows, features)."""
        state, seen = self._state, self.n_answers
        room = len(state.log_rows)
        first = max(int(state.counts[Counts.LOW]), seen - min(most, room))
        rows: np.ndarray = state.log_rows[np.arange(first, seen) % room] + state.shift
        return rows

    def reseed(self, seed: int) -> None:
        """Draw differently from here on."""
        words = np.random.default_rng(seed).integers(2**64, size=2, dtype=np.uint64)
        self._state.random[[DECIDE, LEARN]] = words

    def pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able settings and plain arrays, of which `unpack` makes the same learner again."""
        settings = self._state.told._asdict() | {"capacity": self.capacity}
        return settings, pack_arrays(self._state)

    @classmethod
    def unpack(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> MixedLearner:
        """A learner whose next decision, and all after, are those of the packed one."""
        learner = cls.__new__(cls)
        told = dict(settings)
        learner.capacity = told.pop("capacity")
        made = cls(  # which refuses what is no setting
            1,
            1,
            half_life=told["half_life"] or None,
            notice_change=told["notice_change"],
            bonus=told["bonus"],
            explore=told["explore"],
            least_explore=told["least_explore"],
            capacity=learner.capacity,
        )
        made_told = made._state.told
        if made_told != Told(**told):
            raise ValueError(f"settings must be those of a mixed learner, got {settings}")
        state = unpack_arrays(made_told, arrays)
        check_state(state)
        learner._state = state
        return learner

    def tree(self) -> ObliqueTree | None:
        """None: products and neighbours are no single tree."""
        return None


def _within(name: str, value: Any, low: float, high: float) -> float:
    found = number(name, value)
    if not low <= found <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
    return found


def _check_allowed(allowed: np.ndarray) -> None:
    if not allowed.any():
        raise ValueError("at least one action must be allowed, got none")
