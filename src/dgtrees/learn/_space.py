"""Space: where the parameters of a tree under training lie, and scratch space for its steps.

Compiled code takes both as one table, see `by_reference`; `layout` makes them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import numpy as np

from dgtrees.tree.by_reference import opener
from dgtrees.tree.gradient import Decisions

__all__ = ["Buffers", "Layout", "Settings", "Space", "open_settings", "open_space"]


class Layout(NamedTuple):
    """Places and sizes; see `layout`.

    `biases_at` is -1 for layers without one, and `output_bias_at` where outputs have none;
    `scores_at` is where a thread's `work` has the scores of leaves.
    """

    n_features: int
    n_outputs: int
    linear: bool
    widths: np.ndarray
    weights_at: np.ndarray
    biases_at: np.ndarray
    output_bias_at: int
    slopes_at: int
    leaves_at: int
    size: int
    left: np.ndarray
    right: np.ndarray
    depth: int
    prefix: int
    batch_rows: int
    block_rows: int
    slices: int
    scores_at: int
    products_at: np.ndarray
    hidden_at: np.ndarray


class Buffers(NamedTuple):
    """Scratch space of a step, shared by its threads; each has a row of `work` and of `spare`.

    A batch's rows `inputs`, its targets and weights; products of layers and their gradients;
    activations of layers (the last are the nodes') and their gradients; outputs of rows and the
    loss's gradient there; leaves reached; sums of every block.
    """

    inputs: np.ndarray
    classes: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    products: np.ndarray
    product_gradients: np.ndarray
    hidden: np.ndarray
    hidden_gradients: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray
    leaves: np.ndarray
    losses: np.ndarray
    sizes: np.ndarray
    work: np.ndarray
    spare: np.ndarray


class Space(NamedTuple):
    """A layout with its buffers: what compiled code opens a table of."""

    layout: Layout
    buffers: Buffers


class Settings(NamedTuple):
    """A recipe as compiled code takes it, at one epoch."""

    batch_size: int
    decisions: Decisions
    scaled: bool
    loss: int
    smoothing: float
    noise: float
    relative_noise: float
    optimizer: int
    momentum: float
    epsilon: float
    weight_decay: float
    l1: float
    l2: float
    penalize_biases: bool
    clip: float
    penalized: bool
    averaging: float


def _example(kind: Any, known: dict[str, Any]) -> Any:
    """A tuple of this kind with these fields; what else it has are whole numbers."""
    return kind(**{name: known.get(name, 0) for name in kind._fields})


_PLACES, _CHILDREN = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
_SINGLES, _SUMS = np.zeros(0, dtype=np.float32), np.zeros(0)

open_space = opener(
    Space(
        _example(
            Layout,
            dict.fromkeys(
                ("widths", "weights_at", "biases_at", "products_at", "hidden_at"), _PLACES
            )
            | dict.fromkeys(("left", "right"), _CHILDREN),
        ),
        _example(
            Buffers,
            dict.fromkeys(Buffers._fields, _SINGLES)
            | dict.fromkeys(("classes", "leaves"), _PLACES)
            | dict.fromkeys(("losses", "sizes"), _SUMS)
            | dict.fromkeys(("work", "spare"), _SINGLES.reshape(0, 0)),
        ),
    )
)
"""How compiled code sees the table of a space."""

_REAL = [name for name, kind in get_type_hints(Settings).items() if kind is float]
_DECISIONS = Decisions(0, 0, np.float32(0), np.float32(0), np.float32(0))
open_settings = opener(_example(Settings, dict.fromkeys(_REAL, 0.0) | {"decisions": _DECISIONS}))
"""How it sees that of the settings."""
