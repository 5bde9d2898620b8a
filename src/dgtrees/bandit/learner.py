"""What both policies share: rows in, a state under a lock, files out.

Owns the border: raw rows are checked here once and are float64 arrays below. A lock guards the
state, so that any number of threads may decide while one learns, and none sees half an update.
"""

from __future__ import annotations

import os
import threading
import uuid
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.explore import exploration
from dgtrees.bandit.online_recipe import BanditRecipe, named_recipe
from dgtrees.errors import StateError
from dgtrees.model import file as model_file
from dgtrees.model.answer import Answer
from dgtrees.model.header import refusing
from dgtrees.model.model import Facts, HasModel, Model
from dgtrees.tables.encoder import Encoder, columns_of, is_frame
from dgtrees.tree import online
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.state import (
    AVERAGE,
    NOT_NEGATIVE,
    SCRATCH,
    SQUARE,
    VALUE,
    Arena,
    Settings,
    State,
    new_arena,
    views,
    with_room,
)

__all__ = ["OnlineTree"]

_LEAVES = ("constant", "linear")
_DEEPEST = 16
_MOST_COUNTED = 2**62  # the compiled step adds to counts, and must not overflow
_STORED = tuple(name for name in State._fields if name not in SCRATCH)

# What a recipe in a file of the first release did not say yet, and what it meant.
_FIRST_RELEASE: dict[str, Any] = {
    "output_bias": False,
    "mean_gradients": False,
    "epsilon": 1e-8,
    "gradient_clip": 0.0,
}


class OnlineTree(HasModel):
    """Base of the policies: a tree that learns online, and its file."""

    _task = ""

    def __init__(
        self,
        n_outputs: int,
        max_depth: int,
        leaf: str,
        recipe: Any,
        explore: Any,
        encoder: Encoder | None,
        random_state: int | None,
    ) -> None:
        if not isinstance(leaf, str) or leaf not in _LEAVES:
            raise ValueError(f"leaf must be one of {', '.join(_LEAVES)}, got {shown(leaf)}")
        self.max_depth = whole_number("max_depth", max_depth, 1, _DEEPEST)
        if random_state is not None:
            random_state = whole_number("random_state", random_state, 0, 2**63 - 1)
        if not (encoder is None or isinstance(encoder, Encoder)):
            raise TypeError(f"encoder must be a fitted dgtrees Encoder, got {shown(encoder)}")
        if encoder is not None and not encoder.width:
            raise ValueError(
                f"encoder must be fitted, got one without columns, {shown(encoder)}: call its fit"
            )
        self.leaf = leaf
        self.recipe = recipe
        self.encoder = encoder
        self.random_state = random_state
        self.recipe_ = named_recipe(recipe, self._task + leaf)
        if explore is not None:
            self.recipe_ = replace(self.recipe_, explore=exploration(explore))
        self.id = uuid.uuid4().hex
        self.n_decisions = 0
        self._n_outputs = n_outputs
        self._seed = uuid.uuid4().int % (2**63 - 1) if random_state is None else random_state
        self._capacity = self.recipe_.capacity if self.recipe_.replay else 0
        self._lock = threading.Lock()
        self._arena: Arena | None = None
        if encoder is not None:
            self._begin(encoder.width)

    def _settings(self, n_features: int) -> Settings:
        """What the compiled step is told."""
        return self.recipe_.settings(
            n_features, self._n_outputs, self.max_depth, self.leaf == "linear"
        )

    def _begin(self, n_features: int) -> Arena:
        arena = new_arena(self._settings(n_features), self._seed, self.recipe_.leaf_spread)
        self._arena = arena
        return arena

    @property
    def n_answers(self) -> int:
        """Answered queries learnt from so far."""
        return 0 if self._arena is None else int(self._arena.integers[0])

    @property
    def n_features(self) -> int | None:
        """Length of a row after encoding; None before the first."""
        return None if self._arena is None else self._arena.memory.shape[1]

    # Rows

    def _row(self, x: Any) -> np.ndarray:
        """One row as a float64 vector, or an error."""
        if self.encoder is not None:
            rows = self._encoded(x)
            if len(rows) != 1:
                raise ValueError(f"x must be one row, got {len(rows)}: pass X[i]")
            return rows[0]
        try:
            row = np.asarray(x, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ValueError(
                f"x must be a row of numbers, got {shown(x)}: encode it first"
            ) from None
        if row.ndim != 1 or row.shape[0] == 0:
            raise ValueError(f"x must be one row, a vector, got shape {row.shape}: pass X[i]")
        self._check_width(row.shape[0])
        if not online.usable(row):
            self._refuse(row[None])
        return row

    def _rows(self, X: Any) -> np.ndarray:
        """Rows as a float32 or float64 array, or an error."""
        if self.encoder is not None:
            return self._encoded(X)
        try:
            rows = np.asarray(X)
            X = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"X must be rows of numbers, got {shown(X)}: encode them") from None
        if X.ndim != 2 or X.shape[1] == 0:
            raise ValueError(f"X must be rows by features, got shape {X.shape}: reshape it")
        self._check_width(X.shape[1])
        if not (np.abs(X) <= online.LARGEST).all():
            self._refuse(X)
        return np.ascontiguousarray(X)

    def _encoded(self, X: Any) -> np.ndarray:
        assert self.encoder is not None
        names = [column.name for column in self.encoder.columns]
        if hasattr(X, "iloc") and np.ndim(X) == 1 and set(names) & {str(i) for i in X.index}:
            X = X.to_frame().T  # a row of a pandas frame, which knows its columns
        if is_frame(X):
            X = _by_name(X, names)
        else:
            try:
                rows = np.asarray(X, dtype=object if not self.encoder.numeric else None)
            except ValueError:
                rows = np.empty(0)
            if rows.ndim == 1 and any(isinstance(cell, (list, tuple, np.ndarray)) for cell in rows):
                rows = np.empty(0)  # rows of several lengths
            X = rows[None] if rows.ndim == 1 else rows
            if X.ndim != 2 or X.shape[1] != len(names):
                width = X.shape[1] if X.ndim == 2 else f"shape {X.shape}"
                raise ValueError(
                    f"a row must have the encoder's {len(names)} columns, got {width}: pass a "
                    "vector, rows by columns, or a frame"
                )
        rows = np.ascontiguousarray(self.encoder.expand(columns_of(X)))
        if not (np.abs(rows) <= online.LARGEST).all():
            self._refuse(rows)
        return rows

    def _check_width(self, width: int) -> None:
        if self._arena is not None and width != self._arena.memory.shape[1]:
            raise ValueError(
                f"a row must have {self._arena.memory.shape[1]} features as the first one had, "
                f"got {width}: start a new policy for other features"
            )

    @staticmethod
    def _refuse(X: np.ndarray) -> None:
        row, j = np.argwhere(~(np.abs(X) <= online.LARGEST))[0]
        raise ValueError(
            f"features must be numbers of at most {online.LARGEST:g}, got {X[row, j]} for feature "
            f"{j} of row {row}: fill gaps and rescale, or give an Encoder"
        )

    def _ready(self, width: int) -> Arena:
        """The arena, made by the first row that comes; under the lock."""
        # Again: another thread may have brought the first row since this one was checked.
        self._check_width(width)
        return self._begin(width) if self._arena is None else self._arena

    def _with_room(self, width: int, more: int = 1) -> Arena:
        """The arena, with room to remember more answers."""
        arena = self._ready(width)
        if len(arena.memory) < self._capacity:
            arena = self._arena = with_room(arena, more, self._capacity)
        return arena

    def _started(self) -> Arena:
        if self._arena is None:
            raise StateError("the policy has not seen a row yet: call decide first")
        return self._arena

    # Decisions that come back

    def _check_decision(self, decision: Any, kind: type[Any]) -> None:
        if type(decision) is not kind:
            raise TypeError(
                f"decision must be the {kind.__name__} that decide returned, "
                f"got {shown(decision)}: read logged ones with from_json"
            )
        if decision.policy != self.id:
            raise ValueError(
                f"decision must be one of this policy ({self.id}), got one of {decision.policy!r}: "
                "learn with the policy that decided, or with one loaded from its file"
            )

    @staticmethod
    def _together(X: Any, decisions: Any, losses: Any) -> tuple[Any, list[Any], list[Any]]:
        """Equally many rows, decisions and losses; what is no array or frame becomes a list."""
        try:
            X = X if hasattr(X, "shape") else list(X)
            decisions, losses = list(decisions), list(losses)
            lengths = len(X), len(decisions), len(losses)
        except TypeError:
            raise ValueError(
                f"rows, decisions and losses must be sequences, got {shown(X)}, "
                f"{shown(decisions)}, {shown(losses)}: call learn for a single answer"
            ) from None
        if len(set(lengths)) != 1:
            raise ValueError(
                "rows, decisions and losses must be equally many, got "
                + ", ".join(map(str, lengths))
            )
        return X, decisions, losses

    # Answers

    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        arena, X = self._started(), self._rows(X)
        leaves = np.empty(len(X), dtype=np.int64)
        scores = np.empty((len(X), self._n_outputs))
        with self._lock:
            online.outputs(X, leaves, scores, *arena)
        return leaves, scores

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Leaf of every row, shape (rows,)."""
        return self._outputs(X)[0]

    @property
    def tree_(self) -> ObliqueTree:
        """The tree as it now is, on unscaled features.

        It answers as `predict` does, except for rows with a feature beyond the standard deviations
        at which the recipe clips, and for rows within rounding of a node's boundary.
        """
        state = views(self._started())
        with self._lock:
            averaged = self.recipe_.averaging > 0
            nodes = np.array(state.mean_nodes if averaged else state.nodes, dtype=np.float64)
            leaves = np.array(state.mean_leaves if averaged else state.leaves)
            slopes = np.array(state.mean_slopes if averaged else state.slopes)
            bias = float(state.bias[AVERAGE if averaged else VALUE])
            centre, inverse = state.shift + state.mean, state.inverse_scale.copy()
        weights = nodes[:, :-1] * inverse
        values, leaf_weights = leaves.T + bias, None
        if len(slopes):
            unscaled = slopes[:, :-1] * inverse
            values = values + (slopes[:, -1] - unscaled @ centre)
            leaf_weights = np.broadcast_to(unscaled, (len(values), *unscaled.shape))
        return ObliqueTree.complete(weights, nodes[:, -1] - weights @ centre, values, leaf_weights)

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The policy as it now is, as a model: what explain, plot and export take."""
        columns = () if self.encoder is None else self.encoder.columns
        facts = Facts(tuple(column.name for column in columns) or None)
        forest = ObliqueForest((self.tree_,), "mean", self._answer.bounds)
        return Model(forest, self._answer, self.encoder, True, type(self).__name__, facts)

    @property
    def _answer(self) -> Answer:
        """What outputs mean."""
        raise NotImplementedError

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; the policy that `load` makes of it goes on the same way.

        Random state, optimiser state, remembered queries and running statistics included.
        """
        with self._lock:
            header = {
                "kind": type(self).__name__,
                "parameters": self._parameters(),
                "recipe_name": self.recipe if isinstance(self.recipe, str) else None,
                "recipe": asdict(self.recipe_) | {"explore": self.recipe_.explore.to_json()},
                "encoder": None if self.encoder is None else self.encoder.to_json(),
                "policy": self.id,
                "seed": str(self._seed),
                "n_decisions": self.n_decisions,
                "n_features": self.n_features,
            }
            arrays = {} if self._arena is None else _packed(views(self._arena))
        model_file.write(path, header, arrays)

    def _parameters(self) -> dict[str, Any]:
        """Arguments of the constructor besides recipe and encoder."""
        return {"max_depth": self.max_depth, "leaf": self.leaf, "random_state": self.random_state}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> OnlineTree:
        with refusing(cls):
            fields, rule = dict(header["recipe"]), header["recipe"]["explore"]
            if not _FIRST_RELEASE.keys() & fields.keys():
                fields = _FIRST_RELEASE | fields
                if header["n_features"] is not None:
                    arrays = {"state.bias": np.zeros(4), **arrays}
            fields["explore"] = exploration(rule)
            # What a file leaves out must not become today's default.
            _same_fields("recipe", fields, BanditRecipe.__dataclass_fields__)
            _same_fields("explore", rule, fields["explore"].to_json())
            encoder = None if header["encoder"] is None else Encoder.from_json(header["encoder"])
            _check_sizes(header, encoder, arrays)
            policy = cls(recipe=BanditRecipe(**fields), encoder=encoder, **header["parameters"])  # type: ignore[call-arg]
            _same_fields("parameters", header["parameters"], policy._parameters())
            if header["recipe_name"] is not None:
                named_recipe(header["recipe_name"], cls._task + policy.leaf)
                policy.recipe = header["recipe_name"]
            policy.id, policy.n_decisions = header["policy"], header["n_decisions"]
            policy._seed = int(header["seed"])
            if header["n_features"] is not None:
                fresh = policy._arena or policy._begin(header["n_features"])
                policy._arena = _unpacked(fresh, arrays, policy._capacity)
            return policy

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
            if self._arena is not None:  # which goes on changing once the lock is free
                state["_arena"] = Arena(*(array.copy() for array in self._arena))
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _same_fields(name: str, found: Any, wanted: Any) -> None:
    if set(found) != set(wanted):
        raise ValueError(f"{name} must have {sorted(wanted)}, the file has {sorted(found)}")


def _check_sizes(
    header: dict[str, Any], encoder: Encoder | None, arrays: dict[str, np.ndarray]
) -> None:
    """Refuse sizes that the file does not fill, before a state of these sizes is made."""
    told, width = header["parameters"], header["n_features"]
    if encoder is not None and encoder.width != width:
        raise ValueError(f"n_features must be the encoder's {encoder.width}, got {width}")
    unknown = set(arrays) - ({f"state.{name}" for name in _STORED} if width is not None else set())
    if unknown:
        raise ValueError(f"arrays must be those of a state, got {shown(sorted(unknown))} too")
    if width is None:
        return
    leaves, outputs = 2 ** told["max_depth"], told.get("n_actions", 1)
    wanted = {
        "nodes": (leaves - 1, width + 1),
        "leaves": (outputs, leaves),
        "slopes": (outputs if told["leaf"] == "linear" else 0, width + 1),
    }
    for name, shape in wanted.items():
        found = arrays[f"state.{name}"].shape
        if found != shape:
            raise ValueError(f"{name} must have shape {shape}, the file has {found}")


def _by_name(frame: Any, names: list[str]) -> Any:
    """The columns of a frame that an encoder was fitted on, in its order."""
    arrow = hasattr(frame, "column_names")
    found = list(frame.column_names if arrow else frame.columns)
    labels = [str(label) for label in found]
    for name in names:
        if labels.count(name) != 1:
            raise ValueError(
                f"a frame must have the encoder's column {name!r} once, got {shown(labels)}: "
                "rename its columns as they were in fit"
            )
    chosen = [found[labels.index(name)] for name in names]
    return frame.select(chosen) if arrow else frame[chosen]


def _packed(state: State) -> dict[str, np.ndarray]:
    """The arrays of a state as a model file takes them; 64-bit integers as pairs of 32 bits."""
    used = min(int(state.counts[0]), len(state.memory))
    arrays = {}
    for name, array in state._asdict().items():
        if name in SCRATCH:
            continue
        if name in ("memory", "answers"):
            array = array[:used]
        whole = array.dtype.kind in "iu"
        arrays[f"state.{name}"] = array.view(np.int32).copy() if whole else array.copy()
    return arrays


def _unpacked(fresh: Arena, arrays: dict[str, np.ndarray], capacity: int) -> Arena:
    """A fresh arena filled with what `_packed` described; refuses what does not fit it."""
    state = views(fresh)
    rows = {}
    for name, array in state._asdict().items():
        if name in SCRATCH:
            continue
        stored = arrays[f"state.{name}"]
        whole = array.dtype.kind in "iu"
        if stored.dtype.kind != ("i" if whole else "f"):
            raise ValueError(f"{name} must not be stored as {stored.dtype}")
        with np.errstate(over="ignore"):  # becomes infinity, which is refused
            stored = stored.view(array.dtype) if whole else stored.astype(array.dtype)
        grows = name in ("memory", "answers")
        if stored.ndim != array.ndim or stored.shape[grows:] != array.shape[grows:]:
            raise ValueError(f"{name} must have shape {array.shape}, the file has {stored.shape}")
        if stored.dtype.kind == "f" and not np.isfinite(stored).all():
            raise ValueError(f"{name} must be finite, the file has NaN or infinity")
        if name in NOT_NEGATIVE and stored.size and stored.min() < 0:
            raise ValueError(f"{name} must not be negative, the file has {stored.min():g}")
        if grows:
            rows[name] = stored
        else:
            array[...] = stored
    if state.bias[SQUARE] < 0:
        raise ValueError(f"bias must not have a negative square, got {state.bias[SQUARE]:g}")
    # The compiled step trusts these numbers.
    kept, answers = len(rows["memory"]), rows["answers"]
    fits = (
        state.counts.min() >= 0
        and state.counts.max() <= _MOST_COUNTED
        and kept == len(answers) == min(int(state.counts[0]), capacity)
        and state.counts[1] <= kept
        and ((answers[:, 0] >= 0) & (answers[:, 0] < len(state.leaves))).all()
        and ((answers[:, 2] > 0) & (answers[:, 2] <= 1)).all()
    )
    if not fits:
        raise ValueError("remembered queries and counts do not fit each other")
    return fresh._replace(**rows)
