"""Bandit linear regression: a linear prediction is the action, and only its loss comes back.

The derivative of the unknown loss at the prediction is estimated from one loss (eqn:onepoint of
the paper) or from two (eqn:twopoint), and a gradient step follows. Two recipes:

"paper" is the baseline of the paper's appendix: RMSprop, an L2 penalty, no more.
"default" is the same model at its best: features clipped at five standard deviations, steps whose
size follows from the gradients seen (AdaGrad of the whole vector), the running mean of the loss
subtracted before a one-point estimate, which leaves its mean alone and takes most of its noise,
and an average of the iterates for prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import ContinuousDecision
from dgtrees.paper.baselines.bandit_checks import check_row, check_rows
from dgtrees.paper.baselines.linear_bandit import Scale
from dgtrees.schema import ABOVE_0, check_fields, choice, flag, number

__all__ = ["RECIPES", "LinearContinuousBandit", "LinearRecipe"]


@dataclass(frozen=True)
class LinearRecipe:
    """Every training choice of `LinearContinuousBandit`."""

    optimizer: Annotated[str, choice("adagrad", "rmsprop")] = "adagrad"
    learning_rate: Annotated[float, number(ABOVE_0)] = 0.05
    momentum: Annotated[float, number(0.0, 0.999999)] = 0.0
    l2: Annotated[float, number(0.0)] = 0.0
    clip: Annotated[float, number(ABOVE_0, finite=False)] = 5.0
    subtract_mean: Annotated[bool, flag] = True
    average: Annotated[bool, flag] = True

    def __post_init__(self) -> None:
        check_fields(self)


_PAPER = LinearRecipe(
    optimizer="rmsprop",
    learning_rate=0.01,
    l2=0.01,
    clip=np.inf,
    subtract_mean=False,
    average=False,
)
RECIPES = {
    "default": {"one-point": LinearRecipe(), "two-point": LinearRecipe(learning_rate=0.2)},
    "paper": {"one-point": _PAPER, "two-point": _PAPER},
}


class LinearContinuousBandit:
    """A linear model of the best action, learnt from the loss of actions near its prediction.

    Parameters
    ----------
    low, high : float
        Bounds of the action. Infinite ones are the paper's setting, which has none; `delta` must
        then be given.
    feedback : {"one-point", "two-point"}
        Whether a decision tries one action, or two of which both losses come back.
    delta : float, optional
        How far from the prediction actions are tried; predictions stay that far from the bounds
        while learning. Unless given: a tenth of high - low for one point, where noise falls with
        delta, so that wide bounds and a larger delta may do better; a hundredth for two points.
    recipe : {"default", "paper"} or LinearRecipe
    warm_up : int, default 100
        Rows that settle the scale of the features; learnt from afterwards.
    random_state : int, optional

    Examples
    --------
    >>> policy = LinearContinuousBandit(-4.0, 4.0, feedback="two-point", random_state=0)
    >>> for x in np.random.default_rng(0).normal(size=(2000, 1)):
    ...     decision = policy.decide(x)
    ...     policy.learn(x, decision, [(action - x[0]) ** 2 for action in decision.actions])
    >>> policy.predict([[-1.0], [1.0]]).round(1).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        low: float,
        high: float,
        *,
        feedback: str = "one-point",
        delta: float | None = None,
        recipe: str | LinearRecipe = "default",
        warm_up: int = 100,
        random_state: int | np.random.Generator | None = None,
        **changes: Any,
    ):
        bounded = bool(np.isfinite([low, high]).all())
        if not low < high:
            raise ValueError(f"low must be below high, got {low} and {high}")
        if feedback not in ("one-point", "two-point"):
            raise ValueError(f"feedback must be 'one-point' or 'two-point', got {feedback!r}")
        if delta is None:
            if not bounded:
                raise ValueError(f"delta must be given for bounds {low} and {high}: how far to try")
            delta = (high - low) * (0.1 if feedback == "one-point" else 0.01)
        if not (0 < delta <= (high - low) / 2 and delta < np.inf):
            raise ValueError(f"delta must be above 0 and at most (high - low) / 2, got {delta!r}")
        if isinstance(recipe, str):
            if recipe not in RECIPES:
                raise ValueError(f"recipe must be one of {', '.join(RECIPES)}, got {recipe!r}")
            recipe = RECIPES[recipe][feedback]
        if warm_up < 2:
            raise ValueError(f"warm_up must be at least 2 rows, got {warm_up!r}")
        self.low, self.high = float(low), float(high)
        self._middle = (self.low + self.high) / 2 if bounded else 0.0
        self._unit = self.high - self.low if bounded else 10.0 * float(delta)
        self.feedback = feedback
        self.delta = float(delta)
        self.recipe = replace(recipe, **changes)
        self.random_state = random_state
        self._rng = np.random.default_rng(random_state)
        self._scale = Scale(int(warm_up), self.recipe.clip)
        self._early: list[tuple[np.ndarray, ContinuousDecision, np.ndarray]] = []
        self._columns: int | None = None
        self._mean = 0.0
        self._count = 0

    def decide(self, x: ArrayLike) -> ContinuousDecision:
        """What to try for one row x (d,): all actions lie within the bounds."""
        x = check_row(x, self._columns)
        centre = self._middle
        if self._scale.settled:
            centre = float(self._scale.design(x[None])[0] @ self._weights)
        centre = min(max(centre, self.low + self.delta), self.high - self.delta)
        if self.feedback == "two-point":
            return ContinuousDecision((centre + self.delta, centre - self.delta), centre)
        side = 1.0 if self._rng.random() < 0.5 else -1.0
        return ContinuousDecision((centre + side * self.delta,), centre)

    def learn(self, x: ArrayLike, decision: ContinuousDecision, loss: ArrayLike) -> None:
        """Take in the loss of a decision, or the pair of losses of a two-point decision."""
        x = check_row(x, self._columns)
        losses = np.atleast_1d(np.asarray(loss, dtype=np.float64))
        wanted = 2 if self.feedback == "two-point" else 1
        if losses.shape != (wanted,) or len(decision.actions) != wanted:
            raise ValueError(
                f"{self.feedback} feedback must be {wanted} loss(es) of as many actions, "
                f"got {loss!r} of {len(decision.actions)}"
            )
        if not np.isfinite(losses).all():
            raise ValueError(f"a loss must be finite, got {loss!r}")
        if not 0 < abs(decision.action - decision.centre) < np.inf:
            raise ValueError(f"a decision's actions must lie around its centre, got {decision!r}")
        self._columns = len(x)
        if self._scale.settled:
            self._step(self._scale.design(x[None])[0], decision, losses)
            return
        self._early.append((x.copy(), decision, losses))
        if len(self._early) == self._scale.warm_up:
            self._scale.settle(np.array([row for row, _, _ in self._early]))
            self._start(self._columns + 1)
            for row, early, its_losses in self._early:
                self._step(self._scale.design(row[None])[0], early, its_losses)
            self._early = []

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The best actions (rows,), as far as known; the middle before the warm-up is over."""
        X = check_rows(X, self._columns)
        if not self._scale.settled:
            return np.full(len(X), self._middle)
        weights = self.coefficients_ if self.recipe.average else self._weights
        return np.clip(self._scale.design(X) @ weights, self.low, self.high)

    def _start(self, size: int) -> None:
        self._weights = np.zeros(size)
        self._weights[-1] = self._middle
        self.coefficients_ = self._weights.copy()
        self._squares = np.zeros(size)
        self._velocity = np.zeros(size)
        self._steps = 0

    def _derivative(self, decision: ContinuousDecision, losses: np.ndarray) -> float:
        """The loss's slope at the prediction, estimated."""
        if self.feedback == "two-point":
            first, second = decision.actions
            return float(losses[0] - losses[1]) / (first - second)
        loss = float(losses[0])
        if self.recipe.subtract_mean:
            self._count += 1
            before = self._mean if self._count > 1 else loss
            # A mean over the last thousand or so: early losses are of another size.
            self._mean = before + (loss - before) / min(self._count, 1000)
            loss -= before
        # u / delta with u = +-1 is one over the signed distance from the prediction.
        return loss / (decision.action - decision.centre)

    def _step(self, z: np.ndarray, decision: ContinuousDecision, losses: np.ndarray) -> None:
        recipe = self.recipe
        slope = self._derivative(decision, losses)
        prediction = z @ self._weights
        low, high = self.low + self.delta, self.high - self.delta
        # Out of reach nothing pushes back: a prediction there is never driven further out.
        if (prediction < low and slope > 0) or (prediction > high and slope < 0):
            slope = 0.0
        gradient = slope * z
        if recipe.l2:
            gradient[:-1] += recipe.l2 * self._weights[:-1]
        if recipe.optimizer == "rmsprop":
            self._squares += 0.01 * (gradient**2 - self._squares)
            step = recipe.learning_rate * gradient / (np.sqrt(self._squares) + 1e-8)
        else:
            self._squares[0] += gradient @ gradient
            reach = recipe.learning_rate * self._unit
            step = reach * gradient / (np.sqrt(self._squares[0]) + 1e-300)
        self._velocity = recipe.momentum * self._velocity + step
        self._weights = self._weights - self._velocity
        self._steps += 1
        # Weights that grow with the step's number: the start is forgotten.
        self.coefficients_ += 4.0 / (self._steps + 3.0) * (self._weights - self.coefficients_)
