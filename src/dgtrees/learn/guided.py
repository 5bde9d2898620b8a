"""GuidedDescent: steps of training whose slopes come from outside, batch by batch.

What a policy learns from is no loss that could be differentiated, but slopes that were measured by
trying actions. Everything else about a step (linear layers, penalties, clipping, the optimiser, a
falling rate) is the training engine's, by the same `Recipe`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgtrees.learn.descent import Descent, Parameters
from dgtrees.learn.layout import make_layout, make_space
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.starts import random_start
from dgtrees.learn.threads import one_thread
from dgtrees.learn.widths import hidden_widths
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import child_pointers

__all__ = ["GuidedDescent", "count_parameters"]


def count_parameters(n_features: int, max_depth: int, leaf: str, recipe: Recipe) -> int:
    """Numbers that a complete tree of one output and its layers are trained by.

    >>> count_parameters(2, 1, "constant", Recipe())
    5
    """
    left, right = child_pointers(max_depth)
    widths = hidden_widths(max_depth, recipe.n_layers, recipe.hidden)
    biases = recipe.layer_biases, recipe.output_bias
    size = n_features, 1, leaf == "linear", widths, left, right, max_depth
    return make_layout(*size, recipe.batch_size, *biases).size


def _given(prediction: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A loss that is not known, whose slope is: what the engine takes as a loss of one's own."""
    return np.zeros(len(prediction)), slopes


class GuidedDescent:
    """A complete tree of one output, trained by given slopes.

    Parameters
    ----------
    n_features, max_depth : int
    leaf : "constant" or "linear"
    recipe : Recipe
        Its rate falls as its schedule says over `recipe.steps` steps, and stays at its least value
        after them. Noise on inputs needs rows that are seen again: there is none here.
    seed : int

    Examples
    --------
    >>> descent = GuidedDescent(2, 1, "constant", Recipe(steps=100), seed=0)
    >>> X = np.random.default_rng(0).normal(size=(64, 2))
    >>> for _ in range(100):
    ...     error = descent.tree.predict(X)[:, 0] - (X[:, 0] > 0)
    ...     descent.step(X, 2 * error)
    >>> descent.tree.predict([[1.0, 0.0], [-1.0, 0.0]]).round().ravel()
    array([1., 0.])
    """

    def __init__(
        self, n_features: int, max_depth: int, leaf: str, recipe: Recipe, seed: int
    ) -> None:
        start = random_start(
            max_depth, 1, np.random.default_rng([seed, 1]), uniform=recipe.start == "uniform"
        )
        self.recipe = replace(recipe, loss=_given, input_noise=0.0, relative_noise=0.0)
        self.descent = Descent(start, n_features, leaf, self.recipe, False, seed)
        room = Rows(
            np.zeros((recipe.batch_size, n_features), dtype=np.float32),
            np.zeros((recipe.batch_size, 1), dtype=np.float32),
        )
        self._run = self.descent.begin(room, replace(self.recipe, min_batches=1), epochs=1)
        self._run.space = make_space(self._run.layout, 1)
        self._tree: ObliqueTree | None = None

    @property
    def steps(self) -> int:
        """Steps made so far."""
        return self.descent.steps

    @property
    def tree(self) -> ObliqueTree:
        """The present tree."""
        if self._tree is None:
            with one_thread():
                self._tree = self.descent.tree(average=self.recipe.averaging > 0)
        return self._tree

    def step(self, X: np.ndarray, slopes: np.ndarray) -> None:
        """One step on rows (rows, d), at most a batch, with d loss / d output of each (rows,)."""
        run, done = self._run, min(self.steps / self.recipe.steps, np.nextafter(1.0, 0.0))
        factor = float(self.recipe.rate_factor(np.array([done]))[0])
        rows = Rows(X.astype(np.float32), slopes.astype(np.float32)[:, None])
        with one_thread():
            run.step_on(rows, 0, run.settings_at(done), *(rate * factor for rate in run.rates))
        self._tree = None

    def pack(self) -> dict[str, np.ndarray]:
        """All that training changes, as plain arrays."""
        return vars(self.descent.parameters.copy()) | {
            "steps": np.array([self.steps, self._run.averaged], dtype=np.int32)
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go back to what `pack` returned; refuses arrays of another tree."""
        size = self.descent.parameters.values.shape
        names = ("values", "first", "second", "average")
        for name in names:
            if arrays[name].shape != size or not np.isfinite(arrays[name]).all():
                raise ValueError(
                    f"{name} must be {size[0]} finite numbers, got shape {arrays[name].shape}"
                )
        counts = [int(count) for count in arrays["steps"]]
        if len(counts) != 2 or min(counts) < 0:
            raise ValueError(f"steps must be two counts, got {counts}")
        self.descent.parameters = Parameters(
            *(arrays[name].astype(np.float32, copy=True) for name in names)
        )
        self.descent.steps, self._run.averaged = counts
        self._tree = None
