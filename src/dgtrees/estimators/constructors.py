"""Constructor parameters of the estimators, each declared once.

A dataclass writes `__init__`: scikit-learn reads parameters from its signature and stores them
untouched, which is all that an estimator's constructor may do. What parameters mean is said in the
estimators' own docstrings, and checked at `fit` (`parameters`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from dgtrees.learn.recipe import Recipe
from dgtrees.tables.encoder import Encoder

__all__ = ["ForestParameters", "SelfTrainingParameters", "TrainingParameters", "TreeParameters"]


@dataclass(eq=False, repr=False)
class TrainingParameters:
    """How trees are trained, alone or in a forest."""

    _: KW_ONLY
    recipe: str | Recipe = "default"
    n_layers: int | None = None
    hidden: int | tuple[int, ...] | str | None = None
    loss: str | Callable[..., Any] | None = None
    max_epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    l1: float | None = None
    l2: float | None = None
    warm_start: bool = False
    encoder: Encoder | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class TreeParameters(TrainingParameters):
    """What a single tree may be, and how it is validated."""

    max_depth: int | Literal["auto"] = "auto"
    _: KW_ONLY
    max_leaves: int | None = None
    leaf: str = "auto"
    validation_fraction: float | str | None = None
    patience: int | None = None
    refine: str | None = None
    max_columns: int | None = None


@dataclass(eq=False, repr=False)
class ForestParameters(TrainingParameters):
    """What the trees of a forest are, and which rows each of them sees."""

    n_estimators: int | Literal["auto"] = "auto"
    max_depth: int | Literal["auto"] = "auto"
    _: KW_ONLY
    max_leaves: int | None = None
    max_samples: float = 1.0
    bootstrap: bool = True
    oob_score: bool = False
    leaf: str = "auto"


@dataclass(eq=False, repr=False)
class SelfTrainingParameters:
    """What a tree from few labels is, and how labels come to all rows."""

    max_depth: int | Literal["auto"] = "auto"
    _: KW_ONLY
    leaf: str = "auto"
    n_neighbors: int | Literal["auto"] = "auto"
    n_rounds: int = 2
    max_epochs: int | None = None
    encoder: Encoder | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
