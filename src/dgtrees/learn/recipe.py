"""Recipe: every choice that shapes training, in one frozen dataclass.

Two presets are two values of it, not two code paths. "paper" is the paper's table of
hyperparameters; "default" was chosen on validation data of eleven data sets, one value for all
classification and one for all regression tasks (docs/decisions.md has the figures).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from dgtrees.learn.recipe_checks import QUANTIZER_NAMES, TORCH_QUANTIZERS, check_recipe

if TYPE_CHECKING:
    from dgtrees.learn.losses import Loss

__all__ = [
    "POLISH_PASSES",
    "QUANTIZER_NAMES",
    "RECIPES",
    "TORCH_QUANTIZERS",
    "Recipe",
]

POLISH_PASSES = 10
"""Passes of refine="polish" where a recipe has none of its own; few trees take more."""

_HINGES, _NEARLY = (2, 3, 4), 0.1  # heights of hinge starts, and their share of the rates

_TRIED_ROWS = 500
"""With fewer rows, those held out are too few to tell one try from another."""


@dataclass(frozen=True)
class Recipe:
    """How a tree is trained. Make a variant with `dataclasses.replace(recipe, l1=1e-5)`.

    Parameters
    ----------
    n_layers, hidden
        Linear layers whose product gives the node weights, and their widths.
    layer_biases, output_bias
        A bias of every linear layer, not only of the first and the last; one number that is learnt
        for all leaves and outputs together. Both are multiplied out, or added, when training ends.
    quantizer, path, softmax_scale
        The hard decision and its soft derivative, see `TrainableTree`.
    anneal_start, anneal_stop, anneal_schedule
        Steepness of the "annealed" and "margin" quantizers, "linear" or "log" in time.
    local_after
        Share of the epochs after which a row teaches only the nodes it passes, by the difference
        between the leaf it reached and the one their other child would have sent it to; before,
        the soft-max lets it teach all nodes. 1 for never.
    loss
        A name of `losses.LOSSES` or a callable(prediction, target) on tensors; None takes
        cross-entropy for classification and squared error for regression.
    optimizer, learning_rate, leaf_learning_rate, momentum, epsilon, weight_decay
        "adamw", "rmsprop" or "sgd". Leaves learn at their own rate. Momentum is RMSprop's and
        SGD's; epsilon is what RMSprop and AdamW add to the size of gradients before they divide
        by it. Weight decay is on node weights only (decoupled for "adamw").
    reference_features
        Rows with more features than this learn more slowly, by the square root of how many times
        more, because a step then moves the activations further; and bear more noise, by the same
        factor. None for no such correction.
    reference_rows
        Where there are more rows than this, noise has less to guard against: it shrinks as they
        grow in number, and the nodes' rate by the fourth root. None for no such correction.
    schedule, restarts, least_rate
        "cosine" goes from the rate to `least_rate` times it, `restarts` times again from the start;
        or "constant".
    clip
        Largest norm of the gradient, 0 for no clipping.
    batch_size, min_batches
        Rows a step; fewer where there would otherwise be less than `min_batches` steps a pass.
    epochs, steps, min_epochs, max_epochs, max_steps
        Passes over the data. With epochs=None about `steps` updates are made, in at least
        `min_epochs` and at most `max_epochs` passes, but no more than `max_steps` updates.
    l1, l2, penalize_biases
        Penalties on the absolute or squared weights of all linear layers, and on their biases too.
    scaling
        What a feature is divided by before training: "standard" its standard deviation;
        "absolute" its mean absolute deviation (as a normal distribution's standard deviation),
        where that is smaller, so that a few extreme values do not hide the rest.
    log_copies
        Whether columns of numbers get their soft logarithm beside them (`learn.tails`), in `fit`
        of a single tree.
    target_scaling
        What targets of regression are for training: "standard" with mean 0 and deviation 1,
        "range", from 0 to 1, or "none", as they are, for a loss that reads them its own way.
    start
        Where training sets out from (`learn.starts`): "random" nodes, "uniform", the same with
        the paper's first leaves, "pair", nodes that separate unlike rows, from which trees of
        many leaves need fewer steps, or "hinge", for linear leaves of regression: one try from
        random nodes, others from small trees of several heights (`learn.hinges`).
    start_depth
        Height of a hinge start, where that is less than the tree's; set by `for_try`.
    input_noise, relative_noise
        Standard deviation of Gaussian noise on the standardised inputs while training, and what is
        added to it in proportion to the size of a value: extreme values come with much, so that no
        slope and no boundary rests on them alone.
    label_smoothing
        Share of the target mass spread evenly over classes.
    averaging
        Share of the steps made so far that a running average of the weights looks back over; the
        average becomes the model. 0 for none.
    select_after
        Share of the epochs after which validation may choose one. Scores of the first half, at
        high learning rates, are often high by luck.
    tries, max_tried_steps
        With validation rows, or far more training rows than weights, so many trees are trained
        from different starts and the best one is kept; fewer, where all together would take more
        than `max_tried_steps`, and one below 500 rows.
    patience
        Epochs without a better validation score before training stops; None never stops early.
    refit_strength
        After training every leaf is set to the exact optimum over its rows together with this
        many pseudo-rows of its learnt value (for squared error and cross-entropy, which have one);
        None keeps the learnt leaves.
    polish, max_columns
        Passes of alternating optimisation over nodes and leaves after all that (`learn.polish`),
        for the same losses; 0 for none. They choose columns where nodes may not weigh all.
    """

    n_layers: int = 1
    hidden: int | str | tuple[int, ...] = "paper"
    layer_biases: bool = False
    output_bias: bool = False
    quantizer: str = "sign"
    path: str = "sum"
    softmax_scale: float = 1.0
    anneal_start: float = 1.0
    anneal_stop: float = 100.0
    anneal_schedule: str = "log"
    local_after: float = 1.0
    loss: str | Loss | None = None
    optimizer: str = "adamw"
    learning_rate: float = 3e-3
    leaf_learning_rate: float = 1e-1
    reference_features: int | None = None
    reference_rows: int | None = None
    momentum: float = 0.0
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    schedule: str = "cosine"
    restarts: int = 0
    least_rate: float = 0.0
    clip: float = 0.0
    batch_size: int = 128
    min_batches: int = 1
    epochs: int | None = None
    steps: int = 10_000
    min_epochs: int = 60
    max_epochs: int = 300
    max_steps: int = 30_000
    l1: float = 0.0
    l2: float = 0.0
    penalize_biases: bool = False
    scaling: str = "standard"
    log_copies: bool = False
    target_scaling: str = "standard"
    start: str = "random"
    start_depth: int | None = None
    input_noise: float = 0.0
    relative_noise: float = 0.0
    label_smoothing: float = 0.0
    averaging: float = 0.0
    select_after: float = 0.0
    tries: int = 1
    max_tried_steps: int = 12_000
    patience: int | None = None
    refit_strength: float | None = None
    polish: int = 0
    max_columns: int | None = None

    def __post_init__(self) -> None:
        check_recipe(self)

    def node_rate(self, rows: int, features: int) -> float:
        """Learning rate of the nodes for so many rows of so many features.

        >>> Recipe(learning_rate=0.01, reference_features=32).node_rate(1000, 128)
        0.005
        """
        narrowed = self.learning_rate / _excess(features, self.reference_features) ** 0.5
        return narrowed / _excess(rows, self.reference_rows) ** 0.25

    @property
    def noisy(self) -> bool:
        """Whether training rows are blurred."""
        return self.input_noise > 0 or self.relative_noise > 0

    def noise(self, rows: int, features: int) -> float:
        """Standard deviation of the noise on so many rows of so many features."""
        widened = self.input_noise * _excess(features, self.reference_features) ** 0.5
        return widened / _excess(rows, self.reference_rows)

    def rows_a_step(self, rows: int) -> int:
        """Rows of a batch when there are `rows` in all.

        >>> recipe = Recipe(batch_size=256, min_batches=10)
        >>> recipe.rows_a_step(100_000), recipe.rows_a_step(500)
        (256, 50)
        """
        return max(1, min(self.batch_size, max(16, rows // self.min_batches)))

    def steepness(self, done: float) -> float:
        """Steepness of soft decisions when `done` (0 to 1) of the epochs are made."""
        start, stop = self.anneal_start, self.anneal_stop
        if self.anneal_schedule == "log":
            return start * (stop / start) ** done
        return start + (stop - start) * done

    def rate_factor(self, done: np.ndarray) -> np.ndarray:
        """Learning rate as a share of the full one, when `done` (0 to 1) of the steps are made."""
        if self.schedule == "constant":
            return np.ones_like(done)
        cycle = (done * (self.restarts + 1)) % 1.0
        cosine = 0.5 * (1.0 + np.cos(np.pi * cycle))
        return self.least_rate + (1.0 - self.least_rate) * cosine

    def for_try(self, number: int) -> Recipe:
        """The recipe of one of several tries.

        Every other one of a pair start begins at random, and the first of four of a hinge start;
        the others of these have a tree that is nearly finished, and take small steps.
        """
        if self.start != "hinge":
            return replace(self, start="random") if number % 2 else self
        if number % 4 == 0:
            return replace(self, start="random")
        return replace(
            self,
            start_depth=_HINGES[number % 4 - 1],
            n_layers=1,
            learning_rate=_NEARLY * self.learning_rate,
            leaf_learning_rate=_NEARLY * self.leaf_learning_rate,
            weight_decay=0.0,
        )

    def going_on(self, before: Recipe) -> Recipe:
        """The recipe to go on with after one of its tries, whichever it was."""
        tries = [self, *(self.for_try(number) for number in range(4))]
        same = [r for r in tries if (r.start, r.start_depth) == (before.start, before.start_depth)]
        return same[0] if same else self

    def n_tries(self, rows: int) -> int:
        """Trees to train when there are `rows` training rows and something to compare them by."""
        if rows < _TRIED_ROWS:
            return 1
        steps = self.n_epochs(rows) * -(-rows // self.rows_a_step(rows))
        return max(1, min(self.tries, self.max_tried_steps // steps))

    def n_epochs(self, rows: int) -> int:
        """Passes over `rows` rows of training data.

        >>> Recipe(steps=1000, min_epochs=2, max_epochs=300, batch_size=100).n_epochs(10_000)
        10
        """
        if self.epochs is not None:
            return self.epochs
        steps_per_epoch = -(-rows // self.rows_a_step(rows))
        passes = min(self.max_epochs, max(self.min_epochs, round(self.steps / steps_per_epoch)))
        return max(1, min(passes, self.max_steps // steps_per_epoch))


def _excess(count: int, reference: int | None) -> float:
    """How many times the reference a count is, 1 where it is below."""
    return max(1.0, count / (reference or inf))


_PAPER = Recipe(
    # Algorithm 2 has the plain sign; the published results are those of the scaled one.
    quantizer="scaled_sign",
    optimizer="rmsprop",
    learning_rate=1e-2,
    leaf_learning_rate=1e-2,
    restarts=3,
    clip=1e-2,
    # Not in the paper's text: its authors' program has them.
    layer_biases=True,
    penalize_biases=True,
    epsilon=1e-5,
    least_rate=1e-2,
    start="uniform",
    target_scaling="range",
)

_REGRESSION = Recipe(
    n_layers=5,
    hidden=48,
    softmax_scale=0.45,
    learning_rate=2.5e-3,
    leaf_learning_rate=4e-2,
    reference_features=32,
    weight_decay=0.1,
    batch_size=256,
    min_batches=12,
    steps=4000,
    max_epochs=150,
    local_after=0.3,
    input_noise=0.05,
    averaging=0.1,
    log_copies=True,
    tries=3,
    refit_strength=10.0,
)

RECIPES: dict[str, dict[str, Recipe]] = {
    "default": {
        "classification": Recipe(
            n_layers=3,
            hidden=(128, 64),
            quantizer="margin",
            softmax_scale=0.88,
            anneal_start=3.0,
            anneal_stop=9.0,
            learning_rate=3e-3,
            leaf_learning_rate=5e-2,
            reference_features=32,
            reference_rows=50_000,
            batch_size=256,
            min_batches=12,
            steps=16_000,
            min_epochs=120,
            max_epochs=300,
            input_noise=0.1,
            label_smoothing=0.05,
            averaging=0.1,
            select_after=0.5,
            tries=3,
            start="pair",
        ),
        "regression": _REGRESSION,
        # Extreme values weigh much in a slope.
        "regression, linear leaves": replace(
            _REGRESSION,
            local_after=1.0,
            relative_noise=0.05,
            refit_strength=None,
            start="hinge",
            tries=4,
            max_tried_steps=60_000,  # trees from hinges are small
        ),
    },
    # The one number makes no difference to the probabilities of classes.
    "paper": {"classification": _PAPER, "regression": replace(_PAPER, output_bias=True)},
}
"""Presets by name and task. The paper's are completed by n_layers (1 or 3), l1 or l2, momentum."""
