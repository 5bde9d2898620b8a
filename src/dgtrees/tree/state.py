"""What an online learner was told and what it remembers, as a few flat arrays.

A call from Python into compiled code costs about half a microsecond an array, and a learner has
thirty. They lie therefore side by side in one `Arena` of six, which is what the compiled functions
of `online.py` take, and `opened` gives the named views into it: the same function for Python and,
compiled, for the step itself.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import erf

from dgtrees.tree.compiled import njit

__all__ = [
    "NOT_NEGATIVE",
    "SCRATCH",
    "Arena",
    "Settings",
    "State",
    "new_arena",
    "opened",
    "settings_of",
    "views",
    "with_room",
]

SEEN, NEXT, PENDING, UPDATES = 0, 1, 2, 3  # places of `State.counts`
VALUE, GRADIENT, SQUARE, AVERAGE = 0, 1, 2, 3  # places of `State.bias`
_FIRST_ROOM = 1024


class Settings(NamedTuple):
    """What a learner was told, as numbers; made by `bandit.online_recipe`."""

    feedback: int
    leaf_weight_cap: float
    node_weight_cap: float
    node_rate: float
    node_decay: float
    node_rate_half: float
    leaf_optimizer: int
    leaf_rate: float
    slope_rate: float
    accumulate: int
    replay: int
    averaging: float
    scaling: int
    clip: float
    toward: float
    exploration: int
    explore_a: float
    explore_b: float
    two_point: bool
    delta: float
    baseline: bool
    epsilon: float
    gradient_clip: float
    output_bias: bool
    n_features: int = 1
    n_outputs: int = 1
    height: int = 1
    linear: bool = False


class State(NamedTuple):
    """What a learner remembers; D = d + 1, and scratch arrays at the end."""

    nodes: np.ndarray  # (2^h - 1, D) float32
    leaves: np.ndarray  # (outputs, 2^h)
    slopes: np.ndarray  # (outputs or 0, D)
    node_gradient: np.ndarray  # like nodes: sum since the last update
    node_square: np.ndarray  # like nodes: running mean of squared gradients
    leaf_gradient: np.ndarray
    leaf_square: np.ndarray
    slope_gradient: np.ndarray
    slope_square: np.ndarray
    mean_nodes: np.ndarray  # running averages of nodes, leaves and slopes; empty without averaging
    mean_leaves: np.ndarray
    mean_slopes: np.ndarray
    shift: np.ndarray  # (d,) first row seen: all sums are of differences from it
    mean: np.ndarray  # (d,)
    square: np.ndarray  # (d,) sum of squared deviations from the mean
    absolute: np.ndarray  # (d,) running mean of absolute deviations
    inverse_scale: np.ndarray  # (d,)
    baseline: np.ndarray  # (2^h,) running mean of a leaf's losses, for one-point feedback
    baseline_counts: np.ndarray  # (2^h,)
    bias: np.ndarray  # (4,) added to every output: value, gradient, mean of squares, average
    counts: np.ndarray  # (4,) answers, next place in the memory, examples since an update, updates
    random: np.ndarray  # (2,) uint64
    memory: np.ndarray  # (room, d) float32 rows, less `shift`
    answers: np.ndarray  # (room, 3) action or centre, loss or slope, probability
    x: np.ndarray  # (D,) scratch from here on
    activations: np.ndarray  # (2^h - 1,)
    value: np.ndarray  # (2^(h+1) - 1,)
    reach: np.ndarray  # (2^(h+1) - 1,)
    scores: np.ndarray  # (outputs,)
    probabilities: np.ndarray  # (outputs,)


SCRATCH = ("x", "activations", "value", "reach", "scores", "probabilities")
"""Fields of a state that hold nothing between two calls."""

NOT_NEGATIVE = (
    "node_square", "leaf_square", "slope_square", "square", "absolute", "inverse_scale",
    "baseline_counts",
)  # fmt: skip
"""Fields of a state whose square roots and quotients are taken."""


LAYOUT = float(crc32(repr((Settings._fields, State._fields)).encode()))
"""Compiled code that was cached for another layout must not touch these arrays."""


class Arena(NamedTuple):
    """Settings and state as the compiled functions take them."""

    told: np.ndarray  # the settings and the layout's number, as float64
    floats: np.ndarray
    singles: np.ndarray  # float32
    integers: np.ndarray
    memory: np.ndarray
    answers: np.ndarray


@njit(nogil=True)
def settings_of(told):
    """The settings by name."""
    return Settings(
        int(told[0]),
        told[1],
        told[2],
        told[3],
        told[4],
        told[5],
        int(told[6]),
        told[7],
        told[8],
        int(told[9]),
        int(told[10]),
        told[11],
        int(told[12]),
        told[13],
        told[14],
        int(told[15]),
        told[16],
        told[17],
        told[18] != 0.0,
        told[19],
        told[20] != 0.0,
        told[21],
        told[22],
        told[23] != 0.0,
        int(told[24]),
        int(told[25]),
        int(told[26]),
        told[27] != 0.0,
    )


@njit(nogil=True)
def _part(array, start, rows, columns):
    return array[start : start + rows * columns].reshape((rows, columns))


@njit(nogil=True)
def opened(told, floats, singles, integers, memory, answers):
    """The state by name: views into the arena."""
    if told[-1] != LAYOUT:
        raise RuntimeError("compiled code of another version: delete dgtrees' __pycache__ folders")
    settings = settings_of(told)
    d, outputs = settings.n_features, settings.n_outputs
    D = d + 1
    leaves = 2**settings.height
    nodes = leaves - 1
    sloped = outputs if settings.linear else 0
    averaged = 1 if settings.averaging > 0.0 else 0
    # singles: nodes, their gradient and square, their mean, and one row
    a = nodes * D
    # floats: three of leaves, three of slopes, their means, then vectors
    b, c = outputs * leaves, sloped * D
    v = 3 * b + 3 * c + averaged * (b + c)
    u = v + 5 * d + 2 * leaves
    w = u + 4
    return State(
        _part(singles, 0, nodes, D),
        _part(floats, 0, outputs, leaves),
        _part(floats, 3 * b, sloped, D),
        _part(singles, a, nodes, D),
        _part(singles, 2 * a, nodes, D),
        _part(floats, b, outputs, leaves),
        _part(floats, 2 * b, outputs, leaves),
        _part(floats, 3 * b + c, sloped, D),
        _part(floats, 3 * b + 2 * c, sloped, D),
        _part(singles, 3 * a, averaged * nodes, D),
        _part(floats, 3 * b + 3 * c, averaged * outputs, leaves),
        _part(floats, 3 * b + 3 * c + averaged * b, averaged * sloped, D),
        floats[v : v + d],
        floats[v + d : v + 2 * d],
        floats[v + 2 * d : v + 3 * d],
        floats[v + 3 * d : v + 4 * d],
        floats[v + 4 * d : v + 5 * d],
        floats[v + 5 * d : u - leaves],
        floats[u - leaves : u],
        floats[u:w],
        integers[:4],
        integers[4:6].view(np.uint64),
        memory,
        answers,
        singles[(3 + averaged) * a : (3 + averaged) * a + D],
        floats[w : w + nodes],
        floats[w + nodes : w + 3 * nodes + 1],
        floats[w + 3 * nodes + 1 : w + 5 * nodes + 2],
        floats[w + 5 * nodes + 2 : w + 5 * nodes + 2 + outputs],
        floats[w + 5 * nodes + 2 + outputs : w + 5 * nodes + 2 + 2 * outputs],
    )


def views(arena: Arena) -> State:
    """`opened`, for Python."""
    return opened.py_func(*arena)


def new_arena(settings: Settings, seed: int, leaf_spread: float = 0.0) -> Arena:
    """A learner that has seen nothing.

    Nodes and leaves start as torch starts linear layers: uniform, within one over the square root
    of what they sum over, leaves times `leaf_spread`.
    """
    d, outputs = settings.n_features, settings.n_outputs
    leaves = 2**settings.height
    sloped = outputs if settings.linear else 0
    averaged = settings.averaging > 0
    arena = Arena(
        told=np.array([*settings, LAYOUT], dtype=np.float64),
        floats=np.zeros(
            (3 + averaged) * (outputs * leaves + sloped * (d + 1))
            + (5 * d + 2 * leaves + 4)
            + (5 * (leaves - 1) + 2 + 2 * outputs)
        ),
        singles=np.zeros((3 + averaged) * (leaves - 1) * (d + 1) + d + 1, dtype=np.float32),
        integers=np.zeros(6, dtype=np.int64),
        memory=np.zeros((0, d), dtype=np.float32),
        answers=np.zeros((0, 3)),
    )
    state = views(arena)
    rng = np.random.default_rng(seed)
    nodes = rng.uniform(-1.0, 1.0, size=state.nodes.shape) / np.sqrt(d)
    nodes[:, -1] = 0.0
    state.nodes[:] = nodes
    # erf makes normal numbers uniform; normal ones are drawn because a seed's exploration, which is
    # drawn after them, has to stay what it was when leaves were normal.
    widest = leaf_spread / np.sqrt(leaves)
    state.leaves[:] = widest * erf(rng.normal(size=state.leaves.shape) / np.sqrt(2.0))
    state.random[:] = rng.integers(2**64, size=2, dtype=np.uint64)
    if settings.output_bias:
        state.bias[[VALUE, AVERAGE]] = rng.uniform(-widest, widest)
    if averaged:
        state.mean_nodes[:], state.mean_leaves[:] = state.nodes, state.leaves
    return arena


def with_room(arena: Arena, more: int, capacity: int) -> Arena:
    """The arena with a memory that can take `more` rows, or as many as `capacity` allows."""
    room, used = len(arena.memory), int(arena.integers[SEEN])
    if room >= capacity or used + more <= room:
        return arena
    larger = min(capacity, max(_FIRST_ROOM, 2 * room, used + more))
    memory = np.zeros((larger, arena.memory.shape[1]), dtype=np.float32)
    answers = np.zeros((larger, 3))
    memory[:room], answers[:room] = arena.memory, arena.answers
    arena.integers[NEXT] = used  # a full memory would have gone round to its start
    return arena._replace(memory=memory, answers=answers)
