"""The fields of a model file's header, for every kind of model: one table.

What a field may be is said here and nowhere else, but for two things that have tables of their
own: recipes (`learn.recipe`, `bandit.online_recipe`) and columns (`tables.encoding`). Everything
is checked before an array is made. How fields and arrays must fit each other is said where they are
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dgtrees.errors import ModelFileError
from dgtrees.schema import (
    ABOVE_0,
    Check,
    any_name,
    choice,
    flag,
    items,
    maybe,
    number,
    plain,
    record,
    shown,
    text,
    whole,
)
from dgtrees.tables.bags import POOLINGS
from dgtrees.tables.encoding import COLUMN
from dgtrees.tree.forest import COMBINATIONS
from dgtrees.tree.leaf import LEAF_ARRAYS, LEAF_KINDS

__all__ = ["ARRAYS", "HEADERS", "UNSAID", "check_arrays", "check_header", "refusing"]

_COUNT = whole(0, 2**63 - 1)
_FINITE = number()
_DEEPEST = 8  # lists within lists of what a learner packed
_ANY = number(finite=False)  # scores and losses of training, which may have diverged


def _told(value: Any, name: str) -> None:
    """A field of a policy's recipe: plain, or a rule with fields of its own."""
    (any_name(plain) if isinstance(value, dict) else plain)(value, name)


_FILE: dict[str, Check] = {
    "library_version": text(),
    "kind": text(),
    "arrays": any_name(record({"dtype": text(), "shape": items(whole()), "offset": whole()})),
    "array_bytes": _COUNT,
}
_TABLE = {
    "parameters": any_name(plain),
    "recipe": maybe(any_name(plain)),
    "encoder": items(COLUMN, least=1),
    "feature_names": maybe(items(text(), least=1)),
    "n_features": whole(1, 2**31 - 1),
}
_CLASSES = {
    "classes": items(plain, least=1),
    "classes_dtype": text(r"[<>|=]?[biufUO]\d{0,9}"),
}
_STAGES = {"stages": items(_COUNT)}
_CLUSTERS = {
    "n_clusters": whole(1, 2**31 - 1),
    "history": any_name(items(_ANY)),
    "n_iter": _COUNT,
    "inertia": number(0.0),
}


def _json(value: Any, name: str, depth: int = 0) -> None:
    """Plain values, lists and objects of them; what they mean is checked where they are read."""
    if depth > _DEEPEST:
        raise ValueError(f"{name} must not be nested deeper than {_DEEPEST}, got more")
    inside: Check = lambda item, name: _json(item, name, depth + 1)  # noqa: E731
    if isinstance(value, dict):
        return any_name(inside)(value, name)
    return items(inside)(value, name) if isinstance(value, list) else plain(value, name)


_NAMED_ACTIONS = record(
    {"names": items(plain, least=2), "retired": items(plain), "features": items(items(_json, 2, 2))}
)
_SINCE: dict[str, tuple[str, Check]] = {
    "actions": ("recipe_name", _NAMED_ACTIONS),
    "combine": ("pooling", choice("mean")),
    "pooling": ("made_by", choice(*POOLINGS)),
    "class_factors": ("classes", items(number(ABOVE_0), least=1)),
    "exponent": ("classes", number(1e-3, 1e3)),
    "logarithms": ("single_output", flag),
    "stages": ("made_by", _STAGES["stages"]),
    "n_clusters": ("made_by", _CLUSTERS["n_clusters"]),
    "inertia": ("made_by", _CLUSTERS["inertia"]),
}
"""Fields that files with another field have only where they say something, beside that other."""

_VALUES = {
    "single_output": flag,
    "outputs": whole(1, 2**31 - 1),
    "target_range": items(items(_FINITE, least=1), 2, 2),
}
_TREE = {
    "history": any_name(items(_ANY)),
    "n_iter": _COUNT,
    "best_score": maybe(_ANY),
}
_FOREST = {"oob_score": maybe(_ANY), "combine": choice(*COMBINATIONS)}
_BOOSTING = {"best_score": maybe(_ANY), "combine": choice("sum"), **_STAGES}
_POLICY = {
    "recipe_name": maybe(text()),
    "recipe": any_name(_told),
    "encoder": maybe(items(COLUMN, least=1)),
    "policy": text(r"[0-9a-f]{32}"),
    "seed": text(r"[0-9]{1,19}"),
    "n_decisions": _COUNT,
    "n_features": maybe(whole(1, 2**31 - 1)),
}
_ONLINE = {
    "max_depth": whole(1, 62),
    "leaf": choice(*LEAF_KINDS),
    "random_state": maybe(_COUNT),
}
_ACTIONS = {"n_actions": whole(2, 2**31 - 1), "loss_range": items(_FINITE, 2, 2)}
_ON_LEARNER = {
    "recipe_name": text(),
    "encoder": _POLICY["encoder"],
    "columns": maybe(_json),
    "actions": _NAMED_ACTIONS,
    "learner": maybe(record({"settings": _json, "forms": _json})),
    **{name: _POLICY[name] for name in ("policy", "seed", "n_decisions", "n_features")},
    "parameters": record(
        {
            "max_depth": whole(1, 62),
            "leaf": maybe(text()),
            "random_state": maybe(_COUNT),
            "n_actions": whole(2, 2**31 - 1),
            "loss_range": maybe(items(_FINITE, 2, 2)),
            "half_life": maybe(number(10.0)),
        }
    ),
}
"""Of a policy that is built on a learner other than the online tree."""

_RANGE = {
    "low": _FINITE,
    "high": _FINITE,
    "feedback": choice("one-point", "two-point"),
    "delta": _FINITE,
}

_CLASSIFIER = {**_FILE, **_TABLE, **_CLASSES, **_TREE}
_REGRESSOR = {**_FILE, **_TABLE, **_VALUES, **_TREE}
# Any model, without the estimator that may have made it: what it does not have is null.
_OF_SOME_MODELS = {**_CLASSES, **_VALUES, **_TREE, **_FOREST}
UNSAID: dict[str, None] = dict.fromkeys(_OF_SOME_MODELS)
_MODEL = {
    **_FILE,
    "made_by": text(),
    "encoder": maybe(_TABLE["encoder"]),
    "feature_names": _TABLE["feature_names"],
    "n_features": _TABLE["n_features"],
    **{name: maybe(check) for name, check in _OF_SOME_MODELS.items()},
}
HEADERS: dict[str, dict[str, Check]] = {
    "DGTClassifier": _CLASSIFIER,
    "DGTRegressor": _REGRESSOR,
    "DGTForestClassifier": {**_FILE, **_TABLE, **_CLASSES, **_FOREST},
    "DGTForestRegressor": {**_FILE, **_TABLE, **_VALUES, **_FOREST},
    "DGTBoostingClassifier": {**_FILE, **_TABLE, **_CLASSES, **_BOOSTING},
    "DGTBoostingRegressor": {**_FILE, **_TABLE, **_VALUES, **_BOOSTING},
    "DGTSelfTrainingClassifier": _CLASSIFIER,
    "DGTSelfTrainingRegressor": _REGRESSOR,
    "DGTBagClassifier": {**_FILE, **_TABLE, **_CLASSES, "pooling": choice(*POOLINGS)},
    "DGTBandit": {**_FILE, **_POLICY, "parameters": record({**_ONLINE, **_ACTIONS})},
    "DGTContinuousBandit": {**_FILE, **_POLICY, "parameters": record({**_ONLINE, **_RANGE})},
    "DGTClusterer": {**_FILE, **_TABLE, **_CLUSTERS},
    "DGTAutoencoder": {**_FILE, **_TABLE, **_CLUSTERS},
    "TAOClassifier": _CLASSIFIER,
    "TAORegressor": _REGRESSOR,
    "Model": _MODEL,
}
"""Kind of a model to what its header holds: these fields, and no others."""

_PARTS = {
    "weights": ("<f8", 2),
    "bias": ("<f8", 1),
    "left": ("<i4", 1),
    "right": ("<i4", 1),
    **{name: ("<f8", axes) for name, axes in LEAF_ARRAYS.items()},
}
ARRAYS: dict[str, tuple[str, int]] = {
    "feature_importances": ("<f8", 1),
    "leaf_rows": ("<f8", 1),
    "encoded_feature_scale": ("<f8", 1),
    "intervals.typical_spread": ("<f8", 1),
    "intervals.errors": ("<f8", 2),
    "clusters.centers": ("<f8", 2),
    "clusters.scale": ("<f8", 1),
    "clusters.bases": ("<f8", 3),
    "forest.n_nodes": ("<i4", 1),
    "forest.linear": ("<i4", 1),
    **{f"base.{name}": ("<f8", axes) for name, axes in LEAF_ARRAYS.items()},
    **{f"{whole}.{name}": form for whole in ("tree", "forest") for name, form in _PARTS.items()},
}
"""Name of an array to its type and number of axes; a policy's are those of its state."""


def check_header(header: Any) -> None:
    """Refuse a header that is not as the table says."""
    if not isinstance(header, dict):
        raise ValueError(f"the header must be an object with fields, got {shown(header)}")
    for name in ("arrays", "array_bytes"):
        if name not in header:
            raise ValueError(f"the header must have the field {name}, and does not")
        _FILE[name](header[name], name)
    kind = header.get("kind")
    if isinstance(kind, str) and kind in HEADERS:
        fields = HEADERS[kind]
        if kind == "DGTBandit" and "learner" in header:
            fields = {**_FILE, **_ON_LEARNER}
        said = {
            name: check
            for name, (beside, check) in _SINCE.items()
            if name in header and beside in fields
        }
        record(fields | said)(header, "header")


def check_arrays(arrays: Mapping[str, Any]) -> None:
    """Refuse arrays of an estimator that are not as the table says."""
    for name, array in arrays.items():
        found = array.dtype.str, array.ndim
        if ARRAYS.get(name) != found:
            wanted = ARRAYS.get(name, "not to be there")
            raise ValueError(f"array {name} must be {wanted}, the file has {found}")


@contextmanager
def refusing(kind: type) -> Iterator[None]:
    """Say which model a file failed to be."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        said = " ".join((str(error) if isinstance(error, ValueError) else repr(error)).split())
        short = said if len(said) <= 300 else f"{said[:297]}..."
        raise ModelFileError(f"not a valid {kind.__name__} ({short}): save it again") from error
