"""What a mixed learner's arrays must be before compiled code, which checks nothing, has them."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.mixed_state import LAST_STAGE, Counts, Mixed, make_mixed
from dgtrees.tree.neighbours import LEAF_ROOM

__all__ = ["check_sizes", "check_state"]

_FIRST_ROOM = 256
_MOST_COUNTED = 2**53  # counts are added to and multiplied, and must not overflow


def check_sizes(room: int, nodes: int, answers: int) -> None:
    """Refuse a log much larger than what is in it, before one of that size is made."""
    if not answers <= room <= max(_FIRST_ROOM, 2 * answers):
        raise ValueError(f"the log of {answers} answers must not have room for {room}")
    if nodes != 2 + room // (LEAF_ROOM // 8):
        raise ValueError(f"trees over {room} answers must not have {nodes} nodes")


def check_state(state: Mixed) -> None:
    """Refuse other shapes than those of a learner of this size, and places that are not there."""
    columns, actions, room = len(state.shift), len(state.total), len(state.log_rows)
    if not columns or not actions:
        raise ValueError(f"a learner has columns and actions, got {columns} and {actions}")
    _check_shapes(state, make_mixed(columns, actions, room, state.told, 0))
    nodes, near = state.near.fill.shape[2], state.near
    counts = state.counts
    inverting = counts[Counts.STAGE] == LAST_STAGE
    for name, array, low, high in (
        ("log_actions", state.log_actions, 0, actions - 1),
        ("pairs", state.pairs, 0, state.spread.shape[1] - 1),
        ("near.actions", near.actions, 0, actions - 1),
        ("near.homes", near.homes, 0, nodes - 1),
        ("near.children", near.children, -1, nodes - 1),
        ("near.members", near.members, 0, room - 1),
        ("near.fill", near.fill, 0, LEAF_ROOM),
        ("near.counts", near.counts, 0, 2**31 - 2),
        ("near.times", near.times, 0, _MOST_COUNTED),
        ("near.counters", near.counters, 0, room),
        ("the next place", near.counters[:, 1], 0, room - 1),
        ("near.grown", near.grown, 0, nodes),
        ("base", state.base, 0, _MOST_COUNTED),
        ("counts", counts, 0, _MOST_COUNTED),
        ("the slot in use", counts[[Counts.LIVE]], 0, 1),
        ("the stage", counts[[Counts.STAGE]], 0, LAST_STAGE),
        ("inverted actions", counts[[Counts.INVERTED]], 0, actions - inverting),
        ("the pointer", counts[[Counts.POINTER, Counts.LOW, Counts.START]], 0, counts[Counts.SEEN]),
    ):
        if array.size and not low <= array.min() <= array.max() <= high:
            raise ValueError(
                f"{name} must lie between {low} and {high}, "
                f"the file has {array.min()} to {array.max()}"
            )
    _check_trees(near.children)


def _check_trees(children: np.ndarray) -> None:
    """Children come after their parents, so that every way down ends, and in pairs."""
    parents = np.arange(children.shape[2])[:, None]
    if not ((children == -1) | (children > parents)).all():
        raise ValueError("near.children must come after their parents, the file has others")
    if ((children[..., 0] >= 0) & (children[..., 1] < 0)).any():
        raise ValueError("near.children must come in pairs, the file has a node with one")


def _check_shapes(state: Mixed, fresh: Mixed) -> None:
    for name, wanted in list(fresh._asdict().items())[1:]:  # all but what it is told
        found = getattr(state, name)
        parts = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
        for made, array in parts:
            # Of actions there may be added ones, each with a row of shares.
            added = min(len(array), len(state.total))
            shape = (added, made.shape[1]) if name == "like" else made.shape
            if array.shape != shape or array.dtype != made.dtype:
                raise ValueError(
                    f"{name} must be {made.dtype} of shape {shape}, the file has {array.dtype} of "
                    f"shape {array.shape}"
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite, the file has NaN or infinity")
