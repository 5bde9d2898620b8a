"""BatchLearner: the tree of a continuous policy that learns as the paper's authors let it learn.

Their tree for one- and two-point feedback is the network of their supervised runs: linear layers
before the nodes, batches of answers, clipped gradients, penalties and a rate that falls. So one
step of the training engine is taken for every full batch of answers; within a batch the tree, and
with it every decision, stays as it is.

Actions are places from -1 to 1 here, as in `tree.online`; targets of the network lie between 0 and
1, as in the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.learn.guided import GuidedDescent
from dgtrees.learn.recipe import Recipe
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BatchLearner"]

_SHORTEST = 0.01
"""Least share of delta that a step near a bound keeps."""

_STEEPEST = 1e15
"""Slopes beyond it would overflow float32 when squared."""


class BatchLearner:
    """One tree, its running scale of columns, and the answers of the batch under way.

    Parameters
    ----------
    n_features, max_depth : int
    leaf : "constant" or "linear"
    recipe : Recipe
        `batch_size` answers make one step; the rate falls over `steps` of them.
    seed : int
        Signs of steps are a function of it and of a decision's number.
    """

    def __init__(
        self, n_features: int, max_depth: int, leaf: str, recipe: Recipe, seed: int
    ) -> None:
        self._made_of = n_features, max_depth, leaf, recipe, seed
        self.descent = GuidedDescent(*self._made_of)
        self.seed = seed
        self.seen = 0
        self.mean, self.squares = np.zeros(n_features), np.zeros(n_features)
        self.rows = np.zeros((recipe.batch_size, n_features))
        self.slopes = np.zeros(recipe.batch_size)
        self._tree: ObliqueTree | None = None

    @property
    def n_answers(self) -> int:
        """Answers learnt from, those of the batch under way included."""
        return self.seen

    @property
    def waiting(self) -> int:
        """Answers of the batch under way."""
        return self.seen % len(self.slopes)

    @property
    def tree(self) -> ObliqueTree:
        """The present tree, on raw rows, answering places."""
        if self._tree is None:
            tree = self.descent.tree.on_unscaled_inputs(self.mean, self._scale())
            self._tree = tree.on_scaled_outputs(np.array([-1.0]), np.array([2.0]))
        return self._tree

    def _scale(self) -> np.ndarray:
        """Standard deviation of every column over all full batches; 1 where it does not vary."""
        full = self.seen - self.waiting
        spread = np.sqrt(self.squares / max(full, 1))
        constant = spread <= 1e-12 * np.abs(self.mean)
        return np.where(constant, 1.0, spread)

    def answer(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leaf and place of raw rows (rows, d), both (rows,)."""
        leaves = self.tree.apply(X)
        if self.tree.linear:
            return leaves, self.tree.predict(X)[:, 0]
        return leaves, self.tree.leaf_values[leaves, 0]

    def perturb(
        self, X: np.ndarray, first: int, delta: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centres, signed steps and leaves for raw rows, of the decisions `first`, `first` + 1, ..

        Steps are shorter than `delta` near the bounds.
        """
        leaves, places = self.answer(X)
        room = 1.0 - _SHORTEST * delta
        centre = np.clip(places, -room, room)
        step = np.minimum(delta, 1.0 - np.abs(centre))
        return centre, step * _signs(self.seed, first, len(X)), leaves

    def learn(self, X: np.ndarray, slopes: np.ndarray) -> None:
        """Take in answers: raw rows (rows, d), and d loss / d place of each (rows,)."""
        done = 0
        while done < len(X):
            waiting = self.waiting
            taken = min(len(self.slopes) - waiting, len(X) - done)
            self.rows[waiting : waiting + taken] = X[done : done + taken]
            # An output of the network goes from 0 to 1 where a place goes from -1 to 1.
            steep = 2.0 * slopes[done : done + taken]
            self.slopes[waiting : waiting + taken] = np.clip(steep, -_STEEPEST, _STEEPEST)
            self.seen += taken
            done += taken
            if self.waiting == 0:
                self._step()

    def _step(self) -> None:
        self._observe(self.rows)
        self.descent.step((self.rows - self.mean) / self._scale(), self.slopes)
        self._tree = None

    def _observe(self, rows: np.ndarray) -> None:
        """Add a full batch to the running mean and sum of squared deviations of every column."""
        count, before = len(rows), self.seen - len(rows)
        mean = rows.mean(axis=0)
        apart = mean - self.mean
        self.squares += np.square(rows - mean).sum(axis=0)
        self.squares += np.square(apart) * (before * count / self.seen)
        self.mean += apart * (count / self.seen)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made of what files hold: a run of the engine is neither."""
        return _rebuild, (self._made_of, self.pack())

    def pack(self) -> dict[str, np.ndarray]:
        """All that learning changes, as plain arrays."""
        return self.descent.pack() | {
            "mean": self.mean.copy(),
            "squares": self.squares.copy(),
            "rows": self.rows[: self.waiting].copy(),
            "slopes": self.slopes[: self.waiting].copy(),
            "seen": np.array([self.seen], dtype=np.int64).view(np.int32),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go back to what `pack` returned; refuses arrays that do not fit."""
        self.seen = int(arrays["seen"].view(np.int64)[0])
        shapes: dict[str, Any] = {
            "mean": self.mean.shape,
            "squares": self.squares.shape,
            "rows": (self.waiting, *self.mean.shape),
            "slopes": (self.waiting,),
        }
        for name, shape in shapes.items():
            found = arrays[name]
            if self.seen < 0 or found.shape != shape or not np.isfinite(found).all():
                raise ValueError(f"{name} must be finite, of shape {shape}, got {found.shape}")
        if arrays["squares"].min(initial=0.0) < 0:
            raise ValueError(f"squares must not be negative, got {arrays['squares'].min():g}")
        self.descent.restore(arrays)
        self.mean[:], self.squares[:] = arrays["mean"], arrays["squares"]
        self.rows[: self.waiting], self.slopes[: self.waiting] = arrays["rows"], arrays["slopes"]
        self._tree = None


def _rebuild(made_of: tuple[Any, ...], arrays: dict[str, np.ndarray]) -> BatchLearner:
    learner = BatchLearner(*made_of)
    learner.restore(arrays)
    return learner


def _signs(seed: int, first: int, count: int) -> np.ndarray:
    """-1 or 1 for every decision from `first` on: the top bit of SplitMix64 at its number."""
    with np.errstate(over="ignore"):
        number = np.uint64(first) + np.arange(count, dtype=np.uint64)
        bits = np.uint64(seed) + number * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.where((bits ^ (bits >> np.uint64(31))) >> np.uint64(63), 1.0, -1.0)
