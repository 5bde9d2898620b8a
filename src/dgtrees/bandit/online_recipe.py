"""BanditRecipe: every choice that shapes online learning, in one frozen dataclass.

"paper" is the paper's online setting; "default" was chosen on validation rows, one value for all
data sets (docs/decisions.md has the figures). Both run through the same compiled step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, inf, sqrt
from typing import Annotated

from dgtrees.bandit.explore import Epsilon, Exploration, check_rule
from dgtrees.learn.recipe import RECIPES as TRAINING_RECIPES
from dgtrees.learn.recipe import Recipe
from dgtrees.schema import check_fields, choice, flag, number, whole
from dgtrees.tree.exploration import EXPLORATION
from dgtrees.tree.online_update import FEEDBACK, OPTIMIZERS
from dgtrees.tree.running_scale import SCALING
from dgtrees.tree.state import Settings

__all__ = ["RECIPES", "BanditRecipe", "find_recipe"]

_HEAVIEST = 1e6  # a weight whose gradients, and their squares, stay finite in a policy's file
_INFINITE = number(1.0, inf, finite=False)
_RATE = number(0.0, 1e6)


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

    explore: Annotated[Exploration, check_rule] = field(default_factory=lambda: Epsilon(0.1))
    residual: Annotated[str, choice("logistic", "squared")] = "logistic"
    leaf_weight_cap: Annotated[float, _INFINITE] = 5.0
    node_weight_cap: Annotated[float, _INFINITE] = 1.0
    node_rate: Annotated[float, _RATE] = 0.03
    node_rate_half: Annotated[float, number(0.0, 1e300)] = 0.0
    node_memory: Annotated[float, number(0.0, 0.999999)] = 0.99
    leaf_optimizer: Annotated[str, choice(*OPTIMIZERS)] = "adagrad"
    leaf_rate: Annotated[float, _RATE] = 2.0
    slope_rate: Annotated[float, _RATE] = 1.0
    rates_by_width: Annotated[bool, flag] = True
    accumulate: Annotated[int, whole(1, 10**9)] = 10
    replay: Annotated[int, whole(0, 10**6)] = 9
    capacity: Annotated[int, whole(0, 10**9)] = 100_000
    averaging: Annotated[float, number(0.0, 1.0)] = 0.1
    softmax_scale: Annotated[float, number(1e-6, 1e3)] = 1.0
    scaling: Annotated[str, choice(*SCALING)] = "standard"
    clip: Annotated[float, number(1e-3, 1e6)] = 5.0
    leaf_spread: Annotated[float, number(0.0, 1e6)] = 0.0
    baseline: Annotated[bool, flag] = True
    output_bias: Annotated[bool, flag] = False
    mean_gradients: Annotated[bool, flag] = False
    epsilon: Annotated[float, number(1e-12, 1e6)] = 1e-8
    gradient_clip: Annotated[float, number(0.0, 1e18)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self)

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
            feedback=FEEDBACK[feedback or self.residual],
            leaf_weight_cap=min(self.leaf_weight_cap, _HEAVIEST),
            node_weight_cap=min(self.node_weight_cap, _HEAVIEST),
            node_rate=self.node_rate / width,
            node_decay=self.node_memory,
            node_rate_half=self.node_rate_half,
            leaf_optimizer=OPTIMIZERS[self.leaf_optimizer],
            leaf_rate=self.leaf_rate,
            slope_rate=self.slope_rate / width,
            accumulate=self.accumulate,
            replay=self.replay,
            averaging=self.averaging,
            scaling=SCALING[self.scaling],
            clip=self.clip,
            toward=1.0 / (1.0 + exp(-2.0 * self.softmax_scale)),
            exploration=EXPLORATION[self.explore.rule],
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

# The network of the authors' supervised runs, by batches. They choose penalty and momentum on
# validation rows, which a policy has none of: these did best on those of three data sets.
_PAPER_CONTINUOUS = replace(TRAINING_RECIPES["paper"]["regression"], n_layers=3, l1=5e-6)

RECIPES: dict[str, dict[str, BanditRecipe | Recipe]] = {
    "default": {
        "constant": BanditRecipe(),
        "linear": BanditRecipe(leaf_rate=1.0),
        "continuous, constant": _CONTINUOUS,
        "continuous, linear": _CONTINUOUS,
    },
    "paper": {
        "constant": _PAPER,
        "linear": _PAPER,
        "continuous, constant": _PAPER_CONTINUOUS,
        "continuous, linear": _PAPER_CONTINUOUS,
    },
}
"""Presets by name, and by what the leaves hold."""


def find_recipe(recipe: object, kind: str) -> BanditRecipe | Recipe:
    """A recipe from itself or from its name; one of training is for continuous actions only."""
    if isinstance(recipe, BanditRecipe):
        return recipe
    if isinstance(recipe, Recipe) and kind.startswith("continuous"):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ValueError(f"recipe must be {', '.join(RECIPES)} or a BanditRecipe, got {recipe!r}")
    return RECIPES[recipe][kind]
