"""Hard oblique decision trees, learnt by gradient descent.

Names are imported when they are first used, so that `import dgtrees` is quick and loading a model
to predict never imports torch. Type checkers and editors see them as ordinary imports.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgtrees.bandit import BanditRecipe, DGTBandit, DGTContinuousBandit
    from dgtrees.cluster.shards import fit_shards as fit_shards
    from dgtrees.errors import DGTreesError
    from dgtrees.estimators import (
        DGTAutoencoder,
        DGTBagClassifier,
        DGTBoostingClassifier,
        DGTBoostingRegressor,
        DGTClassifier,
        DGTClusterer,
        DGTForestClassifier,
        DGTForestRegressor,
        DGTRegressor,
        DGTSelfTrainingClassifier,
        DGTSelfTrainingRegressor,
    )
    from dgtrees.learn.recipe import Recipe
    from dgtrees.model.c import export_c
    from dgtrees.model.cluster_rules import describe_clusters
    from dgtrees.model.contributions import contributions
    from dgtrees.model.explanation import explain
    from dgtrees.model.graphviz import export_dot
    from dgtrees.model.model import Model
    from dgtrees.model.onnx import export_onnx
    from dgtrees.model.plot import plot_tree
    from dgtrees.model.rules import export_text
    from dgtrees.paper.baselines.tao import TAOClassifier, TAORegressor
    from dgtrees.tree import ObliqueForest, ObliqueTree

__version__ = "0.2.0"

_HOMES = {
    "BanditRecipe": "dgtrees.bandit",
    "DGTAutoencoder": "dgtrees.estimators",
    "DGTBagClassifier": "dgtrees.estimators",
    "DGTBandit": "dgtrees.bandit",
    "DGTBoostingClassifier": "dgtrees.estimators",
    "DGTBoostingRegressor": "dgtrees.estimators",
    "DGTClassifier": "dgtrees.estimators",
    "DGTClusterer": "dgtrees.estimators",
    "DGTContinuousBandit": "dgtrees.bandit",
    "DGTForestClassifier": "dgtrees.estimators",
    "DGTForestRegressor": "dgtrees.estimators",
    "DGTRegressor": "dgtrees.estimators",
    "DGTSelfTrainingClassifier": "dgtrees.estimators",
    "DGTSelfTrainingRegressor": "dgtrees.estimators",
    "DGTreesError": "dgtrees.errors",
    "Model": "dgtrees.model.model",
    "ObliqueForest": "dgtrees.tree",
    "ObliqueTree": "dgtrees.tree",
    "Recipe": "dgtrees.learn.recipe",
    "TAOClassifier": "dgtrees.paper.baselines.tao",
    "TAORegressor": "dgtrees.paper.baselines.tao",
    "contributions": "dgtrees.model.contributions",
    "describe_clusters": "dgtrees.model.cluster_rules",
    "explain": "dgtrees.model.explanation",
    "plot_tree": "dgtrees.model.plot",
    "export_c": "dgtrees.model.c",
    "export_dot": "dgtrees.model.graphviz",
    "export_onnx": "dgtrees.model.onnx",
    "export_text": "dgtrees.model.rules",
    "fit_shards": "dgtrees.cluster.shards",
}
_KINDS = (
    "DGTBagClassifier",
    "DGTClassifier",
    "DGTRegressor",
    "DGTForestClassifier",
    "DGTForestRegressor",
    "DGTBoostingClassifier",
    "DGTBoostingRegressor",
    "DGTSelfTrainingClassifier",
    "DGTSelfTrainingRegressor",
    "DGTBandit",
    "DGTContinuousBandit",
    "DGTClusterer",
    "DGTAutoencoder",
    "TAOClassifier",
    "TAORegressor",
    "Model",
)

# Not fit_shards: "from dgtrees import *" has to work without torch.
__all__ = [
    "BanditRecipe",
    "DGTAutoencoder",
    "DGTBagClassifier",
    "DGTBandit",
    "DGTBoostingClassifier",
    "DGTBoostingRegressor",
    "DGTClassifier",
    "DGTClusterer",
    "DGTContinuousBandit",
    "DGTForestClassifier",
    "DGTForestRegressor",
    "DGTRegressor",
    "DGTSelfTrainingClassifier",
    "DGTSelfTrainingRegressor",
    "DGTreesError",
    "Model",
    "ObliqueForest",
    "ObliqueTree",
    "Recipe",
    "TAOClassifier",
    "TAORegressor",
    "contributions",
    "describe_clusters",
    "explain",
    "export_c",
    "export_dot",
    "export_onnx",
    "export_text",
    "load",
    "plot_tree",
]


def _imported(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dgtrees' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


if not TYPE_CHECKING:  # whose reader would believe that every name exists
    __getattr__ = _imported


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote to `path`, ready to predict; torch is not needed.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or is of another format version.
    """
    from dgtrees.errors import ModelFileError
    from dgtrees.model import file
    from dgtrees.schema import shown

    header, arrays = file.read(path)
    if header.get("kind") not in _KINDS:
        raise ModelFileError(
            f"{path}: holds a {shown(header.get('kind'))}, this library knows {', '.join(_KINDS)}: "
            "use a newer dgtrees"
        )
    try:
        return _imported(header["kind"])._from_file(header, arrays)
    except ModelFileError as error:  # which does not know where the header came from
        raise ModelFileError(f"{path}: {error}") from error
