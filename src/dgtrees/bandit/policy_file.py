"""A policy's file: everything it knows in named arrays, and back.

How a file is written is `model.file`'s business; here is what a policy writes there, and what is
refused because the compiled step would trust it.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.bandit.explore import find_rule
from dgtrees.bandit.online_recipe import BanditRecipe, find_recipe
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.state import NEXT, PARTS, SEEN, SQUARE, Arena, State, view_state

if TYPE_CHECKING:
    from dgtrees.bandit.online_tree import OnlineTree

__all__ = ["describe_origin", "describe_policy", "pack_state", "restore_policy", "unpack_state"]

_SAVED = {name: part for name, part in PARTS.items() if part.saved}
_MOST_COUNTED = 2**62  # the compiled step adds to counts, and must not overflow

# What a recipe in a file of the first release did not say yet, and what it meant.
_FIRST_RELEASE: dict[str, Any] = {
    "output_bias": False,
    "mean_gradients": False,
    "epsilon": 1e-8,
    "gradient_clip": 0.0,
}


def describe_policy(policy: OnlineTree) -> dict[str, Any]:
    """The header of a policy's file."""
    recipe = asdict(policy.recipe_) | {"explore": policy.recipe_.explore.to_json()}
    return describe_origin(policy) | {"recipe": recipe}


def describe_origin(policy: OnlineTree) -> dict[str, Any]:
    """The header of a policy's file but for its recipe."""
    return {
        "kind": type(policy).__name__,
        "parameters": policy._parameters(),
        "recipe_name": policy.recipe if isinstance(policy.recipe, str) else None,
        "encoder": None if policy.encoder is None else policy.encoder.to_json(),
        "policy": policy.id,
        "seed": str(policy._seed),
        "n_decisions": policy.n_decisions,
        "n_features": policy.n_features,
    }


def restore_policy(
    kind: type[Any], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> OnlineTree:
    """The policy that a header and its arrays describe."""
    told, rule = dict(header["recipe"]), header["recipe"]["explore"]
    if not _FIRST_RELEASE.keys() & told.keys():
        told = _FIRST_RELEASE | told
        if header["n_features"] is not None:
            arrays = {"state.bias": np.zeros(4), **arrays}
    told["explore"] = find_rule(rule)
    # What a file leaves out must not become today's default.
    _check_names("recipe", told, [field.name for field in fields(BanditRecipe)])
    _check_names("explore", rule, told["explore"].to_json())
    encoder = None if header["encoder"] is None else Encoder.from_json(header["encoder"])
    _check_sizes(header, encoder, arrays)
    policy: OnlineTree = kind(recipe=BanditRecipe(**told), encoder=encoder, **header["parameters"])
    _check_names("parameters", header["parameters"], policy._parameters())
    if header["recipe_name"] is not None:
        named = find_recipe(header["recipe_name"], kind._task + policy.leaf)
        # A name may stand for a recipe of another kind by now, as the paper's does.
        policy.recipe = header["recipe_name"] if isinstance(named, BanditRecipe) else policy.recipe_
    policy.id, policy.n_decisions = header["policy"], header["n_decisions"]
    policy._seed = int(header["seed"])
    if header["n_features"] is not None:
        if policy._arena is None:
            policy._begin(header["n_features"])
        policy._arena = unpack_state(policy._need_arena(), arrays, policy._capacity)
    return policy


def pack_state(arena: Arena) -> dict[str, np.ndarray]:
    """The arrays of a state as a model file takes them; 64-bit integers as pairs of 32 bits."""
    state = view_state(arena)
    used = min(int(state.counts[SEEN]), len(state.memory))
    arrays = {}
    for name, part in _SAVED.items():
        array = getattr(state, name)
        array = array[:used] if part.grows else array
        whole = array.dtype.kind in "iu"
        arrays[f"state.{name}"] = array.view(np.int32).copy() if whole else array.copy()
    return arrays


def unpack_state(fresh: Arena, arrays: dict[str, np.ndarray], capacity: int) -> Arena:
    """A fresh arena filled with what `pack_state` described; refuses what does not fit it."""
    state = view_state(fresh)
    rows = {}
    for name, part in _SAVED.items():
        stored = _read_part(name, arrays[f"state.{name}"], getattr(state, name))
        if part.grows:
            rows[name] = stored
        else:
            getattr(state, name)[...] = stored
    if state.bias[SQUARE] < 0:
        raise ValueError(f"bias must not have a negative square, got {state.bias[SQUARE]:g}")
    _check_memory(state, rows["memory"], rows["answers"], capacity)
    return fresh._replace(**rows)


def _read_part(name: str, stored: np.ndarray, array: np.ndarray) -> np.ndarray:
    """An array of a file as the state has it in `array`."""
    part, whole = PARTS[name], array.dtype.kind in "iu"
    if stored.dtype.kind != ("i" if whole else "f"):
        raise ValueError(f"{name} must not be stored as {stored.dtype}")
    with np.errstate(over="ignore"):  # becomes infinity, which is refused
        stored = stored.view(array.dtype) if whole else stored.astype(array.dtype)
    if stored.ndim != array.ndim or stored.shape[part.grows :] != array.shape[part.grows :]:
        raise ValueError(f"{name} must have shape {array.shape}, the file has {stored.shape}")
    if stored.dtype.kind == "f" and not np.isfinite(stored).all():
        raise ValueError(f"{name} must be finite, the file has NaN or infinity")
    if part.not_negative and stored.size and stored.min() < 0:
        raise ValueError(f"{name} must not be negative, the file has {stored.min():g}")
    return stored


def _check_memory(state: State, memory: np.ndarray, answers: np.ndarray, capacity: int) -> None:
    """The compiled step trusts these numbers."""
    kept = len(memory)
    fits = (
        state.counts.min() >= 0
        and state.counts.max() <= _MOST_COUNTED
        and kept == len(answers) == min(int(state.counts[SEEN]), capacity)
        and state.counts[NEXT] <= kept
        and ((answers[:, 0] >= 0) & (answers[:, 0] < len(state.leaves))).all()
        and ((answers[:, 2] > 0) & (answers[:, 2] <= 1)).all()
    )
    if not fits:
        raise ValueError("remembered queries and counts do not fit each other")


def _check_names(name: str, found: Any, wanted: Any) -> None:
    if set(found) != set(wanted):
        raise ValueError(f"{name} must have {sorted(wanted)}, the file has {sorted(found)}")


def _check_sizes(
    header: dict[str, Any], encoder: Encoder | None, arrays: dict[str, np.ndarray]
) -> None:
    """Refuse sizes that the file does not fill, before a state of these sizes is made."""
    told, width = header["parameters"], header["n_features"]
    if encoder is not None and encoder.width != width:
        raise ValueError(f"n_features must be the encoder's {encoder.width}, got {width}")
    unknown = set(arrays) - ({f"state.{name}" for name in _SAVED} if width is not None else set())
    if unknown:
        raise ValueError(f"arrays must be those of a state, got {shown(sorted(unknown))} too")
    if width is None:
        return
    leaves, outputs = 2 ** told["max_depth"], told.get("n_actions", 1)
    wanted = {
        "nodes": (leaves - 1, width + 1),
        "leaves": (outputs, leaves),
        "slopes": (outputs if told["leaf"] == "linear" else 0, width + 1),
    }
    for name, shape in wanted.items():
        found = arrays[f"state.{name}"].shape
        if found != shape:
            raise ValueError(f"{name} must have shape {shape}, the file has {found}")
