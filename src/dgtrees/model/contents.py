"""What of a model is in its file: fields of the header, and arrays. Bytes are `file`'s part."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.model import file as model_file
from dgtrees.model.answer import Actions, Classes, answer_from
from dgtrees.model.header import check_arrays
from dgtrees.model.model import Facts, Model, forest_of
from dgtrees.schema import shown
from dgtrees.tables.encoder import Encoder

__all__ = ["describe", "restore"]

_SCORES = ("history", "n_iter", "best_score", "oob_score")


def describe(
    model: Model, more: dict[str, np.ndarray] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of an estimator's model; `more` arrays go before its trees."""
    facts, forest = model.facts, model.forest
    assert model.encoder is not None and not isinstance(model.answer, Actions)
    header = {
        "encoder": model.encoder.to_json(),
        "feature_names": None if facts.feature_names is None else list(facts.feature_names),
        "n_features": len(model.columns),
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
    if model.alone:
        return header, arrays | model_file.tree_arrays(forest.trees[0])
    return header, arrays | model_file.forest_arrays(forest.trees)


def restore(kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    """The model that `describe` described; refuses parts that do not fit each other."""
    check_arrays(arrays)
    answer, encoder = answer_from(header), Encoder.from_json(header["encoder"])
    combine, names = header.get("combine"), header["feature_names"]
    if combine is None:
        trees = [model_file.tree_from(arrays)]
    else:
        trees = model_file.forest_from(arrays)
        if (combine == "mean") == isinstance(answer, Classes):
            raise ValueError(f"trees of {answer.task} cannot be combined by {combine}")
    scale, importances = arrays.get("encoded_feature_scale"), arrays["feature_importances"]
    leaves, rows = [tree.n_leaves for tree in trees], arrays.get("leaf_rows")
    columns = header["n_features"]
    _check(
        {
            "encoded columns": (encoder.width, trees[0].n_features),
            "input columns": (len(encoder.columns), columns),
            "importances": (len(importances), columns),
            "outputs": (answer.n_outputs, trees[0].n_outputs),
            "rows a leaf": (sum(leaves) if rows is None else len(rows), sum(leaves)),
            "scales": (encoder.width if scale is None else len(scale), encoder.width),
        }
    )
    if names is not None and names != (known := [column.name for column in encoder.columns]):
        raise ValueError(f"feature_names must be the encoder's {shown(known)}, got {shown(names)}")
    facts = Facts(
        None if names is None else tuple(names),
        None if rows is None else tuple(np.split(rows, np.cumsum(leaves)[:-1])),
        scale,
        importances,
        {name: header[name] for name in _SCORES if name in header},
    )
    forest = forest_of(trees, answer, combine or "mean")
    return Model(forest, answer, encoder, combine is None, kind, facts)


def _check(fits: dict[str, tuple[Any, Any]]) -> None:
    """Refuse a tree that does not fit the rest of the file."""
    for what, (one, other) in fits.items():
        if one != other:
            raise ValueError(f"{what} do not fit the tree, {one} against {other}")
