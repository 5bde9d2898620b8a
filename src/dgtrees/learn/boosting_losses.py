"""What boosting lowers: for every loss its start, its derivatives, and its value on held-out rows.

Scores are (rows, outputs). Targets are (rows, outputs) too: values, or classes one-hot; two classes
have one score, the logit of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import softmax

__all__ = [
    "LOSSES",
    "CrossEntropy",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Squared",
    "weighted_quantile",
]

_LEAST_CURVATURE = 1e-6
_LEAST_MEAN = 1e-9
"""Of counts that are all 0."""

_SAFE = 300.0
"""Scores whose exponentials can be added up."""


class Loss(Protocol):
    """What a booster asks of a loss."""

    renews: ClassVar[bool]
    linear_steps: ClassVar[tuple[float, float]]
    """Factors of the steps of trees with linear leaves, which take no account of curvature: where
    every second tree is such a one, and where all are. 0 where there are to be none."""

    linear_shape: ClassVar[tuple[int, float]]
    """Of such trees: most decisions, and the penalty of slopes in units of that of constants."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The best constant scores, (outputs,)."""
        ...

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of every row's loss by its scores, (rows, outputs) each."""
        ...

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of every row, (rows,)."""
        ...

    def step(self, residual: np.ndarray, weight: np.ndarray) -> float:
        """What to add to the scores of a leaf's rows, where `renews` says so."""
        ...


class _Newton:
    """Leaves take the Newton step."""

    renews: ClassVar[bool] = False
    linear_steps: ClassVar[tuple[float, float]] = 1.0, 1.0
    linear_shape: ClassVar[tuple[int, float]] = 3, 10.0

    def step(self, residual: np.ndarray, weight: np.ndarray) -> float:
        """As `Loss.step`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Squared(_Newton):
    """Half the squared error; the mean."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        return np.asarray(weight @ y / weight.sum())

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        return scores - y, np.ones_like(scores)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        return 0.5 * ((scores - y) ** 2).sum(axis=1)


@dataclass(frozen=True)
class Huber(_Newton):
    """Squared up to `delta`, in standard deviations of the target, and linear beyond."""

    delta: float = 0.5

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        return np.array([weighted_quantile(column, weight, 0.5) for column in y.T])

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        return np.clip(scores - y, -self.delta, self.delta), np.ones_like(scores)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        size = np.abs(scores - y)
        inner = np.minimum(size, self.delta)
        return (inner * (size - 0.5 * inner)).sum(axis=1)


@dataclass(frozen=True)
class Poisson(_Newton):
    """Half the deviance of counts, but for what is the same for all scores: logarithms of means."""

    linear_steps: ClassVar[tuple[float, float]] = 0.0, 0.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        return np.log(np.maximum(weight @ y / weight.sum(), _LEAST_MEAN))

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        mean = np.exp(np.minimum(scores, _SAFE))
        return mean - y, np.maximum(mean, _LEAST_CURVATURE)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        return (np.exp(np.minimum(scores, _SAFE)) - y * scores).sum(axis=1)


@dataclass(frozen=True)
class Quantile:
    """The pinball loss; 0.5 is the absolute error."""

    level: float = 0.5
    renews: ClassVar[bool] = True
    linear_steps: ClassVar[tuple[float, float]] = 0.0, 0.0
    linear_shape: ClassVar[tuple[int, float]] = 3, 10.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        return np.array([weighted_quantile(column, weight, self.level) for column in y.T])

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        return (scores >= y) - self.level, np.ones_like(scores)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        error = y - scores
        return np.maximum(self.level * error, (self.level - 1.0) * error).sum(axis=1)

    def step(self, residual: np.ndarray, weight: np.ndarray) -> float:
        """As `Loss.step`."""
        return weighted_quantile(residual, weight, self.level)


@dataclass(frozen=True)
class Logistic(_Newton):
    """Cross-entropy of two classes; the score is the logit of the second."""

    linear_steps: ClassVar[tuple[float, float]] = 5.0, 12.0
    linear_shape: ClassVar[tuple[int, float]] = 4, 1.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        mass = weight @ y
        return np.log((mass + 0.5) / (weight.sum() - mass + 0.5))

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        share = 0.5 + 0.5 * np.tanh(0.5 * scores)
        return share - y, np.maximum(share * (1.0 - share), _LEAST_CURVATURE)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        return np.logaddexp(0.0, np.where(y > 0.5, -scores, scores))[:, 0]


@dataclass(frozen=True)
class CrossEntropy(_Newton):
    """Cross-entropy of three or more classes."""

    linear_steps: ClassVar[tuple[float, float]] = 6.0, 16.0
    linear_shape: ClassVar[tuple[int, float]] = 4, 1.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """As `Loss.start`."""
        mass = weight @ y + 0.5
        return np.log(mass / mass.sum())

    def derivatives(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Loss.derivatives`."""
        if scores.size and np.abs(scores).max() < _SAFE:  # as nearly always, and quicker
            share = np.exp(scores)
            share /= (share @ np.ones(scores.shape[1]))[:, None]
        else:
            share = softmax(scores, axis=1)
        # There is one output more than freedom: steps would otherwise be too long.
        rest = y.shape[1] / (y.shape[1] - 1.0)
        return share - y, np.maximum(rest * share * (1.0 - share), _LEAST_CURVATURE)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """As `Loss.values`."""
        highest = scores.max(axis=1, keepdims=True)
        total = np.log(np.exp(scores - highest).sum(axis=1)) + highest[:, 0]
        return total - (scores * y).sum(axis=1)


LOSSES: dict[str, type] = {
    "squared": Squared,
    "huber": Huber,
    "absolute": Quantile,
    "quantile": Quantile,
    "poisson": Poisson,
}
"""Losses of regression by name."""


def weighted_quantile(values: np.ndarray, weight: np.ndarray, level: float) -> float:
    """The least value up to which a share `level` of the weight lies."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    at = np.searchsorted(mass, level * mass[-1] * (1.0 - 1e-12))
    return float(values[order[min(at, len(order) - 1)]])
