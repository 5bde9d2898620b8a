"""A mixed learner's state as plain arrays by name, and back.

Scratch is left out; what grows with the log is cut to what is used; and of what has two slots only
the one in use is kept unless a successor is in the making.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.mixed_checks import check_sizes
from dgtrees.tree.least_squares import Bank
from dgtrees.tree.mixed_state import Counts, Mixed, Told, make_scratch
from dgtrees.tree.neighbours import NEAREST, Neighbours

__all__ = ["pack_arrays", "unpack_arrays"]

_GROUPS: dict[str, Any] = {"linear": Bank, "product": Bank, "near": Neighbours}
_SCRATCH = set(make_scratch(1, 1, 1, 1))
_SCRATCH |= {"linear.gain", "product.gain", "near.nearest", "near.distances"}
_SCRATCH |= {"near.met", "near.searches"}
_SLOTTED = {"centre", "inverse_scale", "axes", "spread", "pairs"}
_ROOM = {"log_rows": 0, "log_actions": 0, "log_rewards": 0}
_ROOM |= {f"near.{name}": 1 for name in ("rows", "norms", "actions", "rewards", "counts", "times")}
_ROOM |= {"near.homes": 2}
_NODES = {f"near.{name}": 2 for name in ("directions", "cuts", "children", "members", "fill")}
_SIZES = "sizes"  # room of the log, nodes of a tree


def _flat(state: Mixed) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, value in state._asdict().items():
        if name in _GROUPS:
            found |= {f"{name}.{part}": array for part, array in value._asdict().items()}
        elif name != "told":
            found[name] = value
    return found


def _slotted(name: str) -> bool:
    return name in _SLOTTED or "." in name


def pack_arrays(state: Mixed) -> dict[str, np.ndarray]:
    """Copies of all arrays that a learner is."""
    counts = state.counts
    answers = int(min(counts[Counts.SEEN], len(state.log_rows)))
    live, grown = int(counts[Counts.LIVE]), state.near.grown
    nodes = int((grown if counts[Counts.STAGE] else grown[live]).max())
    packed = {_SIZES: np.array([len(state.log_rows), state.near.fill.shape[2]])}
    for name, array in _flat(state).items():
        if name in _SCRATCH:
            continue
        if _slotted(name) and not counts[Counts.STAGE]:
            array = array[live : live + 1]
        if name in _ROOM:
            array = np.take(array, np.arange(answers), axis=_ROOM[name])
        elif name in _NODES:
            array = np.take(array, np.arange(nodes), axis=_NODES[name])
        packed[name] = array.copy()
    return packed


def unpack_arrays(told: Told, packed: dict[str, np.ndarray]) -> Mixed:
    """The state that was packed, with room and scratch as it had them."""
    room, nodes = (int(size) for size in packed[_SIZES])
    check_sizes(room, nodes, len(packed["log_rows"]))
    live = int(packed["counts"][Counts.LIVE])
    found: dict[str, Any] = {}
    for name, array in packed.items():
        if name == _SIZES:
            continue
        shape = list(array.shape)
        if _slotted(name):
            shape[0] = 2
        if name in _ROOM:
            shape[_ROOM[name]] = room
        elif name in _NODES:
            shape[_NODES[name]] = nodes
        # Nodes that no tree has grown yet are leaves.
        whole = np.full(shape, -1 if name == "near.children" else 0, dtype=array.dtype)
        first = live if _slotted(name) and len(array) == 1 else 0
        place = (slice(first, first + len(array)), *(slice(0, n) for n in array.shape[1:]))
        whole[place] = array
        found[name] = whole
    columns, actions = packed["shift"].shape[0], packed["linear.slopes"].shape[1]
    axes, width = packed["linear.slopes"].shape[2], packed["product.slopes"].shape[2]
    found |= make_scratch(columns, actions, axes - 1, width - axes)
    found |= {
        "linear.gain": np.zeros(axes),
        "product.gain": np.zeros(width),
        "near.nearest": np.zeros(NEAREST, dtype=np.int64),
        "near.distances": np.zeros(NEAREST),
        "near.met": np.zeros(room, dtype=np.int64),
        "near.searches": np.zeros(1, dtype=np.int64),
    }
    groups = {
        name: kind(*(found.pop(f"{name}.{part}") for part in kind._fields))
        for name, kind in _GROUPS.items()
    }
    return Mixed(told, **found, **groups)
