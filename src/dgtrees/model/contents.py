"""What of a model is in its file: fields of the header, and arrays. Bytes are `file`'s part."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.errors import StateError
from dgtrees.model import file as model_file
from dgtrees.model.answer import Actions, Classes, Values
from dgtrees.model.bag_classes import BagClasses
from dgtrees.model.clusters import Clusters
from dgtrees.model.facts import Facts
from dgtrees.model.header import check_arrays
from dgtrees.model.model import Model, forest_of
from dgtrees.schema import shown
from dgtrees.tables.encoder import Encoder

__all__ = ["answer_from", "describe", "restore"]

_SCORES = ("history", "n_iter", "best_score", "oob_score", "stages", "inertia")


def describe(
    model: Model, more: dict[str, np.ndarray] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model; `more` arrays go before its trees."""
    facts, forest = model.facts, model.forest
    if isinstance(model.answer, Actions):
        raise StateError("a model of actions cannot be saved alone: save the policy it is of")
    header = {
        "encoder": None if model.encoder is None else model.encoder.to_json(),
        "feature_names": None if facts.feature_names is None else list(facts.feature_names),
        "n_features": len(model.names),
        **model.answer.to_header(),
        **facts.scores,
        **({} if model.alone else {"combine": forest.combine}),
    }
    known = {
        "feature_importances": facts.importances,
        "leaf_rows": None if facts.leaf_rows is None else np.concatenate(facts.leaf_rows),
        "encoded_feature_scale": facts.feature_scale,
    }
    arrays = {name: array for name, array in known.items() if array is not None} | (more or {})
    if isinstance(model.answer, Clusters):
        arrays |= model.answer.to_arrays()
    if model.alone:
        return header, arrays | model_file.tree_arrays(forest.trees[0])
    return header, arrays | model_file.base_arrays(forest) | model_file.forest_arrays(forest.trees)


def restore(kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    """The model that `describe` described; refuses parts that do not fit each other."""
    check_arrays(arrays)
    answer, columns = answer_from(header, arrays), header["n_features"]
    encoder = None if header.get("encoder") is None else Encoder.from_json(header["encoder"])
    combine, names = header.get("combine"), header.get("feature_names")
    if combine is None:
        trees = [model_file.tree_from(arrays)]
    else:
        trees = model_file.forest_from(arrays)
        if answer.numbered:
            raise ValueError(f"clusters are leaves of one tree, got trees combined by {combine}")
        scored = isinstance(answer, Classes) and not isinstance(answer, BagClasses)
        if combine != "sum" and (combine == "mean") == scored:
            raise ValueError(f"trees of {answer.task} cannot be combined by {combine}")
    scale, importances = arrays.get("encoded_feature_scale"), arrays.get("feature_importances")
    if importances is None and "parameters" in header:
        raise ValueError("an estimator's file must have the array feature_importances")
    leaves, rows = [tree.n_leaves for tree in trees], arrays.get("leaf_rows")
    width, outputs = trees[0].n_features, trees[0].n_outputs
    known = None if encoder is None else [column.name for column in encoder.columns]
    single = isinstance(answer, Values) and answer.single_output
    _check(
        {
            "encoded columns": (columns if encoder is None else encoder.width, width),
            "input columns": (columns if known is None else len(known), columns),
            "names": (columns if names is None else len(names), columns),
            "importances": (columns if importances is None else len(importances), columns),
            "outputs": (1 if single else answer.n_outputs or outputs, outputs),
            "rows a leaf": (sum(leaves) if rows is None else len(rows), sum(leaves)),
            "scales": (width if scale is None else len(scale), width),
        }
    )
    if isinstance(answer, Clusters):
        answer.check_leaves(trees[0].leaf_values)
        _check({"columns of centres": (len(answer.scale), width)})
    if names is not None and known is not None and names != known:
        raise ValueError(f"feature_names must be the encoder's {shown(known)}, got {shown(names)}")
    facts = Facts(
        None if names is None else tuple(names),
        None if rows is None else tuple(np.split(rows, np.cumsum(leaves)[:-1])),
        scale,
        importances,
        {name: header[name] for name in _SCORES if name in header},
    )
    base = model_file.base_from(arrays, trees[0].n_features)
    forest = forest_of(trees, answer, combine or "mean", base)
    _check_stages(facts.scores.get("stages"), len(trees))
    return Model(forest, answer, encoder, combine is None, kind, facts)


def answer_from(
    header: dict[str, Any], arrays: dict[str, np.ndarray] | None = None
) -> Classes | Values | Clusters:
    """The answer that a file describes."""
    if "n_clusters" in header:
        return Clusters.from_file(header, arrays or {})
    if header.get("pooling") is not None:
        return BagClasses.from_header(header)
    return (Classes if "classes" in header else Values).from_header(header)


def _check_stages(stages: list[int] | None, trees: int) -> None:
    """Refuse stages that do not rise to the number of trees; none at all leave the base alone."""
    if stages and (stages != sorted(stages) or stages[-1] != trees):
        raise ValueError(f"stages must rise to the {trees} trees there are, got {shown(stages)}")


def _check(fits: dict[str, tuple[Any, Any]]) -> None:
    """Refuse a tree that does not fit the rest of the file."""
    for what, (one, other) in fits.items():
        if one != other:
            raise ValueError(f"{what} do not fit the tree, {one} against {other}")
