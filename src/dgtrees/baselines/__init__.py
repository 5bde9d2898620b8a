"""The paper's rivals, one file each; names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "ContextualBanditForest": "cbf",
    "ContinuousDecision": "linear_continuous",
    "Decision": "decision",
    "EpsilonGreedyLinear": "linear_bandit",
    "LCNClassifier": "lcn",
    "LCNRegressor": "lcn",
    "LinUCB": "linear_bandit",
    "LinearContinuousBandit": "linear_continuous",
    "LinearRecipe": "linear_continuous",
    "PATClassifier": "pat",
    "PATRegressor": "pat",
    "TAOClassifier": "tao",
    "TAORegressor": "tao",
    "TELClassifier": "tel",
    "TELRegressor": "tel",
    "VWBandit": "vw",
}

__all__ = [
    "ContextualBanditForest",
    "ContinuousDecision",
    "Decision",
    "EpsilonGreedyLinear",
    "LCNClassifier",
    "LCNRegressor",
    "LinUCB",
    "LinearContinuousBandit",
    "LinearRecipe",
    "PATClassifier",
    "PATRegressor",
    "TAOClassifier",
    "TAORegressor",
    "TELClassifier",
    "TELRegressor",
    "VWBandit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dgtrees.baselines' has no attribute {name!r}")
    return getattr(import_module(f"dgtrees.baselines.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
