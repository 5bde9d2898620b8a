"""Fitted estimators as model files and back; the file format itself is `model.file`'s."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from dgtrees.learn.recipe import Recipe
from dgtrees.model import file as model_file
from dgtrees.model.header import check_arrays, refusing
from dgtrees.schema import shown
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "begun",
    "check_fit",
    "described",
    "parameters_of",
    "restored",
    "restored_forest",
    "save",
    "save_forest",
    "unfitted",
]

# Arrays that describe the training rows; a model predicts without them.
_EXTRAS = ("leaf_rows", "encoded_feature_scale")


def save(model: Any, path: Any) -> None:
    """Write a fitted estimator of one tree."""
    header, arrays = described(model)
    header |= {
        "history": model.history_,
        "n_iter": int(model.n_iter_),
        "best_score": model.best_score_,
    }
    extras = {name: getattr(model, f"{name}_") for name in _EXTRAS}
    arrays |= {name: array for name, array in extras.items() if array is not None}
    model_file.write(path, header, arrays | model_file.tree_arrays(model.tree_))


def restored(kind: type, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that `save` wrote."""
    with refusing(kind):
        check_arrays(arrays)
        model = begun(kind, header, arrays)
        model.history_, model.n_iter_ = header["history"], header["n_iter"]
        model.best_score_ = header["best_score"]
        model.tree_ = model_file.tree_from(arrays)
        for name in _EXTRAS:
            setattr(model, f"{name}_", arrays.get(name))
        tree, more = model.tree_, {}
        if model.leaf_rows_ is not None:
            more["rows a leaf"] = (model.leaf_rows_.shape, (tree.n_leaves,))
        if model.encoded_feature_scale_ is not None:
            more["scales"] = (model.encoded_feature_scale_.shape, (tree.n_features,))
        check_fit(model, tree, more)
    return model


def save_forest(model: Any, path: Any) -> None:
    """Write a fitted forest."""
    header, arrays = described(model)
    header |= {"oob_score": getattr(model, "oob_score_", None), "combine": model.forest_.combine}
    arrays |= {
        "leaf_rows": np.concatenate(model.leaf_rows_),
        "encoded_feature_scale": model.encoded_feature_scale_,
    }
    arrays |= model._more_arrays() | model_file.forest_arrays(model.forest_.trees)
    model_file.write(path, header, arrays)


def restored_forest(kind: type, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The forest that `save_forest` wrote."""
    with refusing(kind):
        check_arrays(arrays)
        model = begun(kind, header, arrays)
        trees = model_file.forest_from(arrays)
        leaves = [tree.n_leaves for tree in trees]
        rows, scale = arrays["leaf_rows"], arrays["encoded_feature_scale"]
        more = {
            "rows a leaf": (rows.shape, (sum(leaves),)),
            "scales": (scale.shape, (trees[0].n_features,)),
        }
        check_fit(model, trees[0], more)
        model.leaf_rows_ = np.split(rows, np.cumsum(leaves)[:-1])
        model.encoded_feature_scale_ = scale
        # As it was combined, whatever its parameters were set to since.
        model.forest_ = model._forest(trees, header["combine"])
        model._take_more_arrays(arrays)
        if header["oob_score"] is not None:
            model.oob_score_ = float(header["oob_score"])
    return model


# What every estimator of tables has in its file, whatever it ends in.


def described(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of everything but the trees: parameters, encoding, target."""
    header = {
        "kind": type(model).__name__,
        **parameters_of(model),
        "encoder": model._encoder.to_json(),
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist() or None,
        "n_features": int(model.n_features_in_),
        **model._target_for_file(),
    }
    return header, {"feature_importances": np.asarray(model.feature_importances_)}


def begun(kind: type, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """An estimator with what `described` said, and no trees yet."""
    model = unfitted(kind, header)
    model.n_features_in_ = header["n_features"]
    model._encoder = Encoder.from_json(header["encoder"])
    if header["feature_names"] is not None:
        _check_names(header["feature_names"], model._encoder)
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model._target_from_file(header)
    model.feature_importances_ = arrays["feature_importances"]
    return model


def _check_names(names: list[str], encoder: Encoder) -> None:
    known = [column.name for column in encoder.columns]
    if names != known:
        raise ValueError(f"feature_names must be the encoder's {shown(known)}, got {shown(names)}")


def check_fit(model: Any, tree: ObliqueTree, more: dict[str, tuple] | None = None) -> None:
    """Refuse a tree that does not fit the rest of the file."""
    fits = {
        "encoded columns": (model._encoder.width, tree.n_features),
        "input columns": (len(model._encoder.columns), model.n_features_in_),
        "importances": (len(model.feature_importances_), model.n_features_in_),
        "outputs": (model._outputs_per_leaf, tree.n_outputs),
        **(more or {}),
    }
    for what, (one, other) in fits.items():
        if one != other:
            raise ValueError(f"{what} do not fit the tree, {one} against {other}")


def unfitted(kind: type, header: dict[str, Any]) -> Any:
    """An estimator with the parameters that `parameters_of` packed."""
    parameters = {name: _unpacked(value) for name, value in header["parameters"].items()}
    if header["recipe"]:
        fields = header["recipe"].items()
        parameters["recipe"] = Recipe(**{name: _unpacked(value) for name, value in fields})
    return kind(**parameters)


def parameters_of(model: Any) -> dict[str, Any]:
    """Constructor parameters as JSON values; what JSON cannot hold becomes None."""
    parameters = model.get_params(deep=False)
    parameters.pop("encoder", None)  # the file has what it has learnt
    recipe = None
    if isinstance(parameters.get("recipe"), Recipe):
        recipe = {n: _packed(v) for n, v in asdict(parameters.pop("recipe")).items()}
    return {"parameters": {n: _packed(v) for n, v in parameters.items()}, "recipe": recipe}


def _packed(value: Any) -> Any:
    """A parameter as JSON can hold it: tuples and dicts are marked, the unknown becomes None."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return {"tuple": [_packed(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_packed(key), _packed(item)] for key, item in value.items()]}
    return None


def _unpacked(value: Any) -> Any:
    """What `_packed` was given."""
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(_unpacked(item) for item in value["tuple"])
        return {_unpacked(key): _unpacked(item) for key, item in value["dict"]}
    return value
