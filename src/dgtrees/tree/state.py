"""What an online learner was told and what it remembers, as a few flat arrays.

A call from Python into compiled code costs about a tenth of a microsecond per array, and a learner
has thirty. They lie therefore side by side in one `Arena` of six, which is what the compiled
functions of `online.py` take, and `open_state` gives the named views into it: the same function for
Python and, compiled, for the step itself.

`Settings` and `State` are the only places that list the numbers and arrays: types, offsets, what a
policy's file holds and what it must not hold follow from their annotations.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from scipy.special import erf

from dgtrees.tree.compiled import njit

__all__ = [
    "PARTS",
    "Arena",
    "Settings",
    "State",
    "count_answers",
    "make_arena",
    "make_room",
    "open_state",
    "view_state",
]

SEEN, NEXT, PENDING, UPDATES = 0, 1, 2, 3  # places of `State.counts`
VALUE, GRADIENT, SQUARE, AVERAGE = 0, 1, 2, 3  # places of `State.bias`
_FIRST_ROOM = 1024


class Settings(NamedTuple):
    """What a learner was told, as numbers; made by `BanditRecipe.settings`."""

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

    def sizes(self) -> dict[str, int]:
        """Lengths of axes by the names that the parts of a state have for them."""
        leaves, width = 2**self.height, self.n_features + 1
        sloped = self.n_outputs if self.linear else 0
        averaged = 1 if self.averaging > 0 else 0
        return {
            "features": self.n_features,
            "width": width,  # features and the constant 1
            "outputs": self.n_outputs,
            "sloped": sloped,
            "leaves": leaves,
            "nodes": leaves - 1,
            "places": 2 * leaves - 1,  # nodes and leaves
            "mean_nodes": averaged * (leaves - 1),
            "mean_outputs": averaged * self.n_outputs,
            "mean_sloped": averaged * sloped,
        }


class Part:
    """Where an array of a state lies, its shape, and what a file may hold of it.

    `pool` is an array of the arena, or "words": its integers without a sign. `shape` has names of
    `Settings.sizes` and numbers. A part whose first axis is "room" is a whole array, which grows.
    """

    def __init__(
        self, pool: str, *shape: str | int, saved: bool = True, not_negative: bool = False
    ) -> None:
        self.pool = pool
        self.shape = shape
        self.saved = saved  # scratch arrays hold nothing between two calls
        self.not_negative = not_negative  # square roots and quotients are taken of it
        self.grows = shape[0] == "room"

    def lengths(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape in numbers."""
        return tuple(sizes[axis] if isinstance(axis, str) else axis for axis in self.shape)


class State(NamedTuple):
    """What a learner remembers, and scratch arrays at the end."""

    nodes: Annotated[np.ndarray, Part("singles", "nodes", "width")]
    leaves: Annotated[np.ndarray, Part("floats", "outputs", "leaves")]
    slopes: Annotated[np.ndarray, Part("floats", "sloped", "width")]
    # Sums of gradients since the last update, and running means of their squares.
    node_gradient: Annotated[np.ndarray, Part("singles", "nodes", "width")]
    node_square: Annotated[np.ndarray, Part("singles", "nodes", "width", not_negative=True)]
    leaf_gradient: Annotated[np.ndarray, Part("floats", "outputs", "leaves")]
    leaf_square: Annotated[np.ndarray, Part("floats", "outputs", "leaves", not_negative=True)]
    slope_gradient: Annotated[np.ndarray, Part("floats", "sloped", "width")]
    slope_square: Annotated[np.ndarray, Part("floats", "sloped", "width", not_negative=True)]
    # Running averages of nodes, leaves and slopes; empty without averaging.
    mean_nodes: Annotated[np.ndarray, Part("singles", "mean_nodes", "width")]
    mean_leaves: Annotated[np.ndarray, Part("floats", "mean_outputs", "leaves")]
    mean_slopes: Annotated[np.ndarray, Part("floats", "mean_sloped", "width")]
    # The first row seen: all sums are of differences from it. Then the mean, the sum of squared
    # deviations from it, and the running mean of absolute ones.
    shift: Annotated[np.ndarray, Part("floats", "features")]
    mean: Annotated[np.ndarray, Part("floats", "features")]
    square: Annotated[np.ndarray, Part("floats", "features", not_negative=True)]
    absolute: Annotated[np.ndarray, Part("floats", "features", not_negative=True)]
    inverse_scale: Annotated[np.ndarray, Part("floats", "features", not_negative=True)]
    # Running mean of a leaf's losses, for one-point feedback.
    baseline: Annotated[np.ndarray, Part("floats", "leaves")]
    baseline_counts: Annotated[np.ndarray, Part("floats", "leaves", not_negative=True)]
    # Added to every output: value, gradient, mean of squares, average.
    bias: Annotated[np.ndarray, Part("floats", 4)]
    # Answers, next place in the memory, examples since an update, updates.
    counts: Annotated[np.ndarray, Part("integers", 4)]
    random: Annotated[np.ndarray, Part("words", 2)]
    # Rows less `shift`; then action or centre, loss or slope, and probability.
    memory: Annotated[np.ndarray, Part("memory", "room", "features")]
    answers: Annotated[np.ndarray, Part("answers", "room", 3)]
    x: Annotated[np.ndarray, Part("singles", "width", saved=False)]
    activations: Annotated[np.ndarray, Part("floats", "nodes", saved=False)]
    value: Annotated[np.ndarray, Part("floats", "places", saved=False)]
    reach: Annotated[np.ndarray, Part("floats", "places", saved=False)]
    scores: Annotated[np.ndarray, Part("floats", "outputs", saved=False)]
    probabilities: Annotated[np.ndarray, Part("floats", "outputs", saved=False)]


class Arena(NamedTuple):
    """Settings and state as the compiled functions take them."""

    told: np.ndarray  # one record: the settings, and where the parts of the state lie
    floats: np.ndarray
    singles: np.ndarray
    integers: np.ndarray
    memory: np.ndarray
    answers: np.ndarray


PARTS: dict[str, Part] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(State, include_extras=True).items()
}
"""The parts of a state by name."""

_NUMBERS = {int: np.int64, float: np.float64, bool: np.bool_}
_FIELDS: list[Any] = [(name, _NUMBERS[kind]) for name, kind in get_type_hints(Settings).items()]
_FIELDS += [("places", np.int64, (len(PARTS), 3))]  # of every part its start, rows and columns
_TOLD = np.dtype((np.record, np.dtype(_FIELDS, align=True)))


@njit(nogil=True)
def _vector(pool, place):
    return pool[place[0] : place[0] + place[1]]


@njit(nogil=True)
def _matrix(pool, place):
    return pool[place[0] : place[0] + place[1] * place[2]].reshape((place[1], place[2]))


def _compile_open_state() -> Any:
    """`open_state`: State(nodes=_matrix(singles, told[0].places[0]), leaves=...).

    Its source is made of the parts' names, as that of a named tuple or a dataclass is: Numba cannot
    fill a tuple in a loop, and one that is put together from pairs, by a function for each part,
    took three times as long to compile and twice as long to run.
    """
    lines = []
    for number, (name, part) in enumerate(PARTS.items()):
        pool = "integers.view(np.uint64)" if part.pool == "words" else part.pool
        cut = ("_vector", "_matrix")[len(part.shape) - 1]
        lines.append(f"{name}={pool if part.grows else f'{cut}({pool}, places[{number}])'}")
    source = (
        f"def open_state({', '.join(Arena._fields)}):\n"
        f"    places = told[0].places\n"
        f"    return State({', '.join(lines)})\n"
    )
    scope = {"State": State, "_matrix": _matrix, "_vector": _vector, "np": np}
    exec(source, scope)
    return njit(nogil=True)(scope["open_state"])


open_state = _compile_open_state()
"""The state by name: views into the arena."""


def view_state(arena: Arena) -> State:
    """`open_state`, for Python."""
    state: State = open_state.py_func(*arena)
    return state


def count_answers(arena: Arena) -> int:
    """How many answers a learner has seen; the counts lie first among the integers."""
    return int(arena.integers[SEEN])


def _allocate(settings: Settings) -> Arena:
    """Arrays of the right sizes, and all parts side by side in them."""
    sizes = settings.sizes() | {"room": 0}
    told = np.zeros(1, _TOLD)
    used = {"floats": 0, "singles": 0, "integers": 0}
    for place, part in zip(told["places"][0], PARTS.values(), strict=True):
        lengths = part.lengths(sizes)
        if not part.grows:
            pool = "integers" if part.pool == "words" else part.pool
            place[:] = used[pool], *lengths, *[1] * (2 - len(lengths))
            used[pool] += prod(lengths)
    for name, value in settings._asdict().items():
        told[name] = value
    return Arena(
        told=told,
        floats=np.zeros(used["floats"]),
        singles=np.zeros(used["singles"], dtype=np.float32),
        integers=np.zeros(used["integers"], dtype=np.int64),
        memory=np.zeros(PARTS["memory"].lengths(sizes), dtype=np.float32),
        answers=np.zeros(PARTS["answers"].lengths(sizes)),
    )


def make_arena(settings: Settings, seed: int, leaf_spread: float = 0.0) -> Arena:
    """A learner that has seen nothing.

    Nodes and leaves start as torch starts linear layers: uniform, within one over the square root
    of what they sum over, leaves times `leaf_spread`.
    """
    arena = _allocate(settings)
    state = view_state(arena)
    rng = np.random.default_rng(seed)
    nodes = rng.uniform(-1.0, 1.0, size=state.nodes.shape) / np.sqrt(settings.n_features)
    nodes[:, -1] = 0.0
    state.nodes[:] = nodes
    # erf makes normal numbers uniform; normal ones are drawn because a seed's exploration, which is
    # drawn after them, has to stay what it was when leaves were normal.
    widest = leaf_spread / np.sqrt(2**settings.height)
    state.leaves[:] = widest * erf(rng.normal(size=state.leaves.shape) / np.sqrt(2.0))
    state.random[:] = rng.integers(2**64, size=2, dtype=np.uint64)
    if settings.output_bias:
        state.bias[[VALUE, AVERAGE]] = rng.uniform(-widest, widest)
    if settings.averaging > 0:
        state.mean_nodes[:], state.mean_leaves[:] = state.nodes, state.leaves
    return arena


def make_room(arena: Arena, more: int, capacity: int) -> Arena:
    """The arena with a memory that can take `more` rows, or as many as `capacity` allows."""
    room, used = len(arena.memory), count_answers(arena)
    if room >= capacity or used + more <= room:
        return arena
    larger = min(capacity, max(_FIRST_ROOM, 2 * room, used + more))
    memory = np.zeros((larger, arena.memory.shape[1]), dtype=np.float32)
    answers = np.zeros((larger, 3))
    memory[:room], answers[:room] = arena.memory, arena.answers
    arena.integers[NEXT] = used  # a full memory would have gone round to its start
    return arena._replace(memory=memory, answers=answers)
