"""The file of a DGTBandit: its learner, contexts, names and last ids, and back.

A policy of the online tree has the header of earlier releases (`policy_file`), with a field more
where its actions have names; all others say which learner they have, and what it packed. Arrays
that a model file cannot hold as they are (64-bit integers, truth values) are stored by their bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.bandit.action_names import ActionNames
from dgtrees.bandit.column_form import describe_columns, restore_columns
from dgtrees.bandit.learners import find_learner
from dgtrees.bandit.live_columns import LiveColumns
from dgtrees.bandit.policy_file import describe_policy, pack_state, restore_policy
from dgtrees.bandit.recent import Recent
from dgtrees.model import file as model_file
from dgtrees.schema import shown
from dgtrees.tables.encoder import Encoder

if TYPE_CHECKING:
    from dgtrees.bandit.named_policy import NamedPolicy

__all__ = ["restore_named", "write_named"]

_IDS = "recent.ids"
_STATE = "learner."
_WORDS = {"bool": np.uint8, "int64": np.int64, "uint64": np.uint64, "uint8": np.uint8}
_AS_THEY_ARE = ("float64", "int32")


def write_named(policy: NamedPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy's file."""
    with policy._lock:
        if policy._is_tree:
            header = describe_policy(policy)  # type: ignore[arg-type]
            arrays = {} if policy._arena is None else pack_state(policy._arena)
            if not policy._actions.numbered or policy._actions.retired or policy._actions.features:
                header["actions"] = policy._actions.to_json()
        else:
            header, arrays = _describe(policy)
        if len(policy._recent):
            arrays[_IDS] = policy._recent.to_array()
    model_file.write(path, header, arrays)


def restore_named(
    kind: type[Any], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> NamedPolicy:
    """The policy that a header and its arrays describe."""
    arrays = dict(arrays)
    ids = arrays.pop(_IDS, None)
    policy: Any = (_restore if "learner" in header else restore_policy)(kind, header, arrays)
    if header.get("actions") is not None:
        actions = ActionNames.from_json(header["actions"])
        if len(actions) != policy.n_actions:
            raise ValueError(f"actions must be {policy.n_actions} names, got {len(actions)}")
        policy._actions = actions
    if ids is not None:
        policy._recent = Recent.from_array(ids)
    return policy  # type: ignore[no-any-return]


def _describe(policy: NamedPolicy) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    live = isinstance(policy._contexts, LiveColumns)
    header = {
        "kind": type(policy).__name__,
        "parameters": policy._parameters(),
        "recipe_name": policy.recipe,
        "encoder": None if policy.encoder is None else policy.encoder.to_json(),
        "columns": describe_columns(policy._contexts) if live else None,
        "actions": policy._actions.to_json(),
        "policy": policy.id,
        "seed": str(policy._seed),
        "n_decisions": policy.n_decisions,
        "n_features": policy.n_features,
        "learner": None,
    }
    if policy._learner is None:
        return header, {}
    settings, state = policy._learner.pack()
    stored = {name: _store(name, array) for name, array in state.items()}
    forms = {name: [form, list(shape)] for name, (form, shape, _) in stored.items()}
    header["learner"] = {"settings": settings, "forms": forms}
    return header, {f"{_STATE}{name}": array for name, (_, _, array) in stored.items()}


def _restore(kind: type[Any], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> NamedPolicy:
    encoder = None if header["encoder"] is None else Encoder.from_json(header["encoder"])
    told = {name: value for name, value in header["parameters"].items() if name != "leaf"}
    make: Any = find_learner(header["recipe_name"])
    if make is None:
        raise ValueError(f"recipe_name must name a learner, got {shown(header['recipe_name'])}")
    policy = kind(recipe=header["recipe_name"], encoder=encoder, **told)
    policy.id, policy.n_decisions = header["policy"], header["n_decisions"]
    policy._seed = int(header["seed"])
    if (header["columns"] is None) != (encoder is not None):
        raise ValueError("columns must be there unless there is an encoder")
    if header["columns"] is not None:
        policy._contexts = restore_columns(header["columns"])
    if header["learner"] is None:
        if arrays or header["n_features"] is not None:
            raise ValueError(f"arrays must be those of a learner, got {shown(sorted(arrays))}")
        return policy  # type: ignore[no-any-return]
    state = _read_arrays(header["learner"]["forms"], arrays)
    policy._learner = make.unpack(header["learner"]["settings"], state)
    sizes = policy._learner.n_features, policy._learner.n_actions
    wanted = header["n_features"], policy.n_actions
    if sizes != wanted or policy._contexts.row_width != sizes[0]:
        raise ValueError(f"the learner must have {wanted} features and actions, has {sizes}")
    return policy  # type: ignore[no-any-return]


def _store(name: str, array: np.ndarray) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Type, shape, and the array as a model file takes it."""
    array = np.ascontiguousarray(array)
    form = array.dtype.name
    if form in _AS_THEY_ARE and array.ndim in (1, 2, 3):
        return form, array.shape, array
    if form == "float32":
        return form, array.shape, array.astype(np.float64).reshape(-1)
    if form in _AS_THEY_ARE:
        return form, array.shape, array.reshape(-1)
    if form not in _WORDS:
        raise TypeError(f"array {name} of a learner must be of numbers, got {form}")
    data = array.tobytes()
    return form, array.shape, np.frombuffer(data + bytes(-len(data) % 4), dtype="<i4")


def _read_arrays(forms: Mapping[str, Any], stored: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The arrays that `_store` described."""
    if {f"{_STATE}{name}" for name in forms} != set(stored):
        raise ValueError(f"arrays must be those of the learner, got {shown(sorted(stored))}")
    found = {}
    for name, (form, shape) in forms.items():
        array, size = stored[f"{_STATE}{name}"], int(np.prod(shape, dtype=np.int64))
        if form in _WORDS:
            kind = np.dtype(_WORDS[form])
            data = np.ascontiguousarray(array, dtype="<i4").tobytes()[: size * kind.itemsize]
            array = np.frombuffer(data, dtype=kind)
        elif form not in (*_AS_THEY_ARE, "float32"):
            raise ValueError(f"array {name} must be of a known type, got {shown(form)}")
        if array.size != size:
            raise ValueError(f"array {name} must have shape {shape}, the file has {array.shape}")
        found[name] = array.astype(np.dtype(form)).reshape(shape)
    return found
