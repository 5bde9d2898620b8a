"""A mixed learner's state with more room, more columns or more actions than before.

What was learnt stays as it is: new columns were 0, and products with them too, so that sums get
zeros and inverses the inverse of their ridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.mixed_successor import rebuild, start_action
from dgtrees.tree.by_reference import Held
from dgtrees.tree.least_squares import Bank
from dgtrees.tree.mixed_state import Counts, Mixed, find_sizes, make_mixed
from dgtrees.tree.neighbours import Neighbours, make_neighbours

__all__ = ["with_action", "with_features", "with_room"]

_NEW_COLUMN = 1.0  # one over the scale of a column that no model has seen: indicators stay 0 and 1


def with_room(state: Mixed, room: int) -> Mixed:
    """The same learner with a larger log, of which it has not yet filled the old one."""
    near = make_neighbours(room, state.near.rows.shape[2])
    _copy_neighbours(near, state)
    log = {name: getattr(state, name) for name in ("log_rows", "log_actions", "log_rewards")}
    for name, old in log.items():
        log[name] = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
        log[name][: len(old)] = old
    kept = near.counters[:, 0]
    near.counters[:, 1] = kept  # a full store would have gone round to its start
    return state._replace(near=near, **log)


_BY_ANSWER = ("rows", "norms", "actions", "rewards", "counts", "times")
_BY_NODE = ("directions", "cuts", "children", "members", "fill")


def _copy_neighbours(new: Neighbours, state: Mixed) -> None:
    """Copy what is in use: memory that is not touched costs no time, and it is most of it."""
    old, live = state.near, int(state.counts[Counts.LIVE])
    for slot in (0, 1) if state.counts[Counts.STAGE] else (live,):
        kept, nodes = int(old.counters[slot, 0]), int(old.grown[slot].max())
        for name in _BY_ANSWER:
            getattr(new, name)[slot, :kept] = getattr(old, name)[slot, :kept]
        for name in _BY_NODE:
            getattr(new, name)[slot, :, :nodes] = getattr(old, name)[slot, :, :nodes]
        new.homes[slot, :, :kept] = old.homes[slot, :, :kept]
        new.counters[slot], new.grown[slot] = old.counters[slot], old.grown[slot]
    for name in ("nearest", "distances", "searches"):  # a row that was scored may be learnt next
        getattr(new, name)[:] = getattr(old, name)


def _copy_into(new: Any, old: Any) -> None:
    """Copy arrays into the leading corner of larger ones."""
    for target, source in zip(new, old, strict=True):
        target[tuple(slice(0, size) for size in source.shape)] = source


def with_features(state: Mixed, features: int) -> Mixed:
    """The same learner with columns appended that were 0 so far."""
    actions, old = len(state.total), len(state.shift)
    axes, products = find_sizes(features, actions)
    new = make_mixed(features, actions, len(state.log_rows), state.told, 0)
    new = _carry(new, state)
    new.log_rows[:, :old] = state.log_rows
    new.shift[:old] = state.shift
    if state.axes.shape[1] == 0 and axes < features:  # rows are turned from here on
        return _rebuilt(new)
    new.centre[:, :old], new.inverse_scale[:, :old] = state.centre, state.inverse_scale
    new.inverse_scale[:, old:] = _NEW_COLUMN
    if axes < features:
        new.axes[:] = 0.0
        new.axes[:, :, :old] = state.axes
        new.gathered[:, :old] = state.gathered
    kept = state.pairs.shape[1]
    new.spread[:, : state.spread.shape[1]] = state.spread
    new.pairs[:] = features - 1 if axes == features else 0
    new.pairs[:, :kept] = state.pairs
    _copy_into(new.near, state.near)
    before = state.row.shape[0] - 1
    _copy_bank(new.linear, state.linear, np.r_[:before, axes])
    places = np.r_[:before, axes : axes + kept, axes + products]
    _copy_bank(new.product, state.product, places)
    corner = slice(0, state.found.shape[1])
    if len(state.found):
        new.found[:, corner, corner], new.noise[:, corner, corner] = state.found, state.noise
    return new


def _copy_bank(new: Bank, old: Bank, places: np.ndarray) -> None:
    """Copy regressions whose columns have moved to these places."""
    actions = slice(0, old.slopes.shape[1])
    for target, source in ((new.inverse, old.inverse), (new.sums, old.sums)):
        part = target[:, actions]
        part[:, :, places[:, None], places] = source
    for target, source in zip(new[2:5], old[2:5], strict=True):
        part = target[:, actions]
        part[:, :, places] = source


_SAME_SIZE: tuple[str, ...] = ("log_actions", "log_rewards", "base", "stack", "stack_inverse")
_SAME_SIZE += ("rewards_seen", "counts", "random")


def _carry(new: Mixed, old: Mixed) -> Mixed:
    """The new state with everything of the old one whose size does not change."""
    return new._replace(like=old.like, **{name: getattr(old, name) for name in _SAME_SIZE})


def _rebuilt(state: Mixed) -> Mixed:
    """The state with a model made anew of the whole log, at once."""
    state.counts[Counts.BUILT] = 0
    if state.counts[Counts.SEEN]:
        rebuild(Held(state), True)
    return state


def with_action(state: Mixed, similar: np.ndarray | None) -> Mixed:
    """The same learner with one more action, which starts from what similar ones taught."""
    features, actions = len(state.shift), len(state.total)
    new = make_mixed(features, actions + 1, len(state.log_rows), state.told, 0)
    new = _carry(new, state)._replace(like=_with_likeness(state.like, actions, similar))
    new.log_rows[:], new.shift[:] = state.log_rows, state.shift
    if new.row.shape != state.row.shape or new.products.shape != state.products.shape:
        return _rebuilt(new)  # so many actions can afford fewer columns
    for name in ("centre", "inverse_scale", "axes", "spread", "pairs"):
        getattr(new, name)[:] = getattr(state, name)
    new = new._replace(near=state.near)
    for bank, old in ((new.linear, state.linear), (new.product, state.product)):
        _copy_bank(bank, old, np.arange(old.slopes.shape[2]))
    held = Held(new)
    start_action(held, actions)
    if state.counts[Counts.STAGE]:
        rebuild(held, False)
    return new


def _with_likeness(like: np.ndarray, actions: int, similar: np.ndarray | None) -> np.ndarray:
    """Shares of all actions that added ones start from, with a row for one more."""
    larger = np.zeros((len(like) + 1, actions + 1))
    larger[:-1, : like.shape[1]] = like
    if similar is not None:
        weights = np.maximum(np.asarray(similar, dtype=np.float64), 0.0)
        larger[-1, :actions] = weights / max(weights.sum(), 1e-300)
    return larger
