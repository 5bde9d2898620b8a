"""BanditRecipe: every choice that shapes online learning, in one frozen dataclass.

"paper" is the paper's online setting; "default" was chosen on validation rows, one value for all
data sets (docs/decisions.md has the figures). Both run through the same compiled step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.explore import Epsilon, Exploration
from dgtrees.tree import online
from dgtrees.tree.state import Settings

__all__ = ["RECIPES", "BanditRecipe", "named_recipe"]

_CHOICES = {
    "residual": ("logistic", "squared"),
    "leaf_optimizer": tuple(online.OPTIMIZERS),
    "scaling": tuple(online.SCALING),
}

_HEAVIEST = 1e6  # a weight whose gradients, and their squares, stay finite in a policy's file

# Whether a whole number, the least value, and the largest.
_RANGES: dict[str, tuple[bool, Any, Any]] = {
    "leaf_weight_cap": (False, 1.0, inf),
    "node_weight_cap": (False, 1.0, inf),
    "node_rate": (False, 0.0, 1e6),
    "node_rate_half": (False, 0.0, 1e300),
    "node_memory": (False, 0.0, 0.999999),
    "leaf_rate": (False, 0.0, 1e6),
    "slope_rate": (False, 0.0, 1e6),
    "accumulate": (True, 1, 10**9),
    "replay": (True, 0, 10**6),
    "capacity": (True, 0, 10**9),
    "averaging": (False, 0.0, 1.0),
    "softmax_scale": (False, 1e-6, 1e3),
    "clip": (False, 1e-3, 1e6),
    "leaf_spread": (False, 0.0, 1e6),
    "epsilon": (False, 1e-12, 1e6),
    "gradient_clip": (False, 0.0, 1e18),
}
_SWITCHES = ("rates_by_width", "baseline", "output_bias", "mean_gradients")


@dataclass(frozen=True)
class BanditRecipe:
    """How a policy learns. Make a variant with `dataclasses.replace(recipe, replay=0)`.

    Parameters
    ----------
    explore
        The rule that draws actions, see `dgtrees.bandit.explore`.
    residual
        Derivative of the loss by the score: "squared" is eqn:classficationg, "logistic" the same
        without its factor 2 sigma (1 - sigma), which all but vanishes where the policy is
        confidently wrong.
    leaf_weight_cap, node_weight_cap
        A query drawn with probability p counts 1 / p times, but no more than this, and never more
        than a million times. Leaves need the weight to be unbiased; in the nodes it does more harm
        (rare queries then drive all rows into a few leaves) than good.
    node_rate, node_rate_half, node_memory
        Nodes learn by RMSprop at this rate, divided by sqrt(1 + n / node_rate_half) after n
        queries (0: never divided); its squares are remembered with this factor.
    leaf_optimizer, leaf_rate, slope_rate
        "adagrad" and "sgd" update the entries concerned after every example, "rmsprop" all of them
        together with the nodes. slope_rate is for the slopes of linear scores.
    rates_by_width
        Whether node_rate and slope_rate are divided by the square root of the number of features:
        a step moves an activation by its size times the features.
    accumulate
        Examples, replayed ones included, whose gradients are summed for one update of the nodes.
    replay, capacity
        After every answer so many remembered ones are learnt from again, drawn at random from the
        last `capacity`.
    averaging
        Share of the updates made so far that a running average of all parameters looks back over;
        the average predicts, and acts in a DGTBandit; a DGTContinuousBandit tries actions beside
        what the learning parameters answer. 0 for none.
    softmax_scale
        Size of a decision in the soft distribution over leaves that gives the gradient.
    scaling, clip
        What a feature is divided by: "standard" its standard deviation; "absolute" its mean
        absolute deviation (as a normal distribution's standard deviation) where that is smaller,
        so that a few extreme values do not hide the rest. Clipped at so many times that.
    leaf_spread
        Leaves start uniform within so many times one over the square root of their number.
    baseline
        Whether one-point feedback subtracts the running mean of a leaf's losses from a loss, and
        counts steps that a bound cut short for less; otherwise its slope is eqn:onepoint as it is.
    output_bias
        Whether one learnt number is added to every score in every leaf, learnt as leaves are. It
        takes up the mean loss within a few hundred answers, so that leaves and nodes learn
        differences only.
    mean_gradients
        Whether the gradients of `accumulate` examples are averaged instead of summed. That is seen
        by `epsilon` and `gradient_clip` alone: RMSprop's steps have no scale.
    epsilon
        What RMSprop adds to the root of the mean square by which it divides.
    gradient_clip
        Largest norm of the gradient of an update: of nodes, and of leaves and bias where they are
        updated together with the nodes, which is with leaf_optimizer="rmsprop". 0 for none.
    """

    explore: Exploration = field(default_factory=lambda: Epsilon(0.1))
    residual: str = "logistic"
    leaf_weight_cap: float = 5.0
    node_weight_cap: float = 1.0
    node_rate: float = 0.03
    node_rate_half: float = 0.0
    node_memory: float = 0.99
    leaf_optimizer: str = "adagrad"
    leaf_rate: float = 2.0
    slope_rate: float = 1.0
    rates_by_width: bool = True
    accumulate: int = 10
    replay: int = 9
    capacity: int = 100_000
    averaging: float = 0.1
    softmax_scale: float = 1.0
    scaling: str = "standard"
    clip: float = 5.0
    leaf_spread: float = 0.0
    baseline: bool = True
    output_bias: bool = False
    mean_gradients: bool = False
    epsilon: float = 1e-8
    gradient_clip: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.explore, Exploration):
            raise ValueError(f"explore must be a rule of dgtrees.bandit, got {self.explore!r}")
        for name, allowed in _CHOICES.items():
            given = getattr(self, name)
            if not isinstance(given, str) or given not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {shown(given)}")
        for name, (whole, least, most) in _RANGES.items():
            given = getattr(self, name)
            value = whole_number(name, given, least, most) if whole else number(name, given)
            if not least <= value <= most:
                raise ValueError(f"{name} must be a number from {least:g} to {most:g}, got {given}")
            object.__setattr__(self, name, value)  # a plain int or float, which files can hold
        for name in _SWITCHES:
            given = getattr(self, name)
            if not isinstance(given, (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {shown(given)}")
            object.__setattr__(self, name, bool(given))

    def settings(
        self,
        n_features: int,
        n_outputs: int,
        height: int,
        linear: bool,
        feedback: str | None = None,
    ) -> Settings:
        """The recipe as the compiled step takes it, for a tree of this size."""
        a, b = self.explore.numbers()
        width = sqrt(n_features) if self.rates_by_width else 1.0
        # The step sums gradients; limits meant for their mean are as many times larger for the sum.
        summed = self.accumulate if self.mean_gradients else 1
        return Settings(
            feedback=online.FEEDBACK[feedback or self.residual],
            leaf_weight_cap=min(float(self.leaf_weight_cap), _HEAVIEST),
            node_weight_cap=min(float(self.node_weight_cap), _HEAVIEST),
            node_rate=self.node_rate / width,
            node_decay=float(self.node_memory),
            node_rate_half=float(self.node_rate_half),
            leaf_optimizer=online.OPTIMIZERS[self.leaf_optimizer],
            leaf_rate=float(self.leaf_rate),
            slope_rate=self.slope_rate / width,
            accumulate=int(self.accumulate),
            replay=int(self.replay),
            averaging=float(self.averaging),
            scaling=online.SCALING[self.scaling],
            clip=float(self.clip),
            toward=1.0 / (1.0 + exp(-2.0 * self.softmax_scale)),
            exploration=online.EXPLORATION[self.explore.rule],
            explore_a=a,
            explore_b=b,
            two_point=False,
            delta=0.0,
            baseline=self.baseline,
            epsilon=summed * self.epsilon,
            gradient_clip=summed * self.gradient_clip,
            output_bias=self.output_bias,
            n_features=n_features,
            n_outputs=n_outputs,
            height=height,
            linear=linear,
        )


_PAPER = BanditRecipe(
    explore=Epsilon(0.3),
    residual="squared",
    leaf_weight_cap=inf,
    node_weight_cap=inf,
    node_rate=1e-3,
    leaf_optimizer="rmsprop",
    leaf_rate=1e-3,
    slope_rate=1e-3,
    rates_by_width=False,
    accumulate=4,
    replay=0,
    averaging=0.0,
    clip=1e6,
    leaf_spread=1.0,
    baseline=False,
    # The paper's text does not mention these; the authors' program has them. Gradients are not
    # clipped: the text takes clipping out for bandit classification.
    output_bias=True,
    mean_gradients=True,
    epsilon=1e-5,
)

_CONTINUOUS = BanditRecipe(
    # A slope holds where it was measured: it is not learnt from again.
    replay=0,
    capacity=0,
    node_rate_half=20_000,
    leaf_rate=0.2,
    slope_rate=0.1,
    averaging=0.3,
    scaling="absolute",
    clip=3.0,
)

RECIPES: dict[str, dict[str, BanditRecipe]] = {
    "default": {
        "constant": BanditRecipe(),
        "linear": BanditRecipe(leaf_rate=1.0),
        "continuous, constant": _CONTINUOUS,
        "continuous, linear": _CONTINUOUS,
    },
    "paper": {
        "constant": _PAPER,
        "linear": _PAPER,
        "continuous, constant": _PAPER,
        "continuous, linear": _PAPER,
    },
}
"""Presets by name, and by what the leaves hold."""


def named_recipe(recipe: object, kind: str) -> BanditRecipe:
    """A recipe from itself or from its name."""
    if isinstance(recipe, BanditRecipe):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ValueError(f"recipe must be {', '.join(RECIPES)} or a BanditRecipe, got {recipe!r}")
    return RECIPES[recipe][kind]
