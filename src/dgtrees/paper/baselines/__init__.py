"""The paper's baselines, one file each; names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgtrees.paper.baselines.cbf import ContextualBanditForest
    from dgtrees.paper.baselines.lcn import LCNClassifier, LCNRegressor
    from dgtrees.paper.baselines.linear_bandit import EpsilonGreedyLinear, LinUCB
    from dgtrees.paper.baselines.linear_continuous import LinearContinuousBandit, LinearRecipe
    from dgtrees.paper.baselines.pat import PATClassifier, PATRegressor
    from dgtrees.paper.baselines.tao import TAOClassifier, TAORegressor
    from dgtrees.paper.baselines.tel import TELClassifier, TELRegressor
    from dgtrees.paper.baselines.vw import VWBandit

_HOMES = {
    "ContextualBanditForest": "cbf",
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


if not TYPE_CHECKING:  # whose reader would believe that every name exists

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
