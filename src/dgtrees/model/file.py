"""One model, one file: arrays and a JSON header, no pickle.

Layout, all integers little-endian::

    8 bytes   b"DGTREES\\n"
    4 bytes   format version
    8 bytes   length of the header
    32 bytes  SHA-256 of everything that follows
    header    JSON: what the model is, and name, dtype, shape, offset of every array
    arrays    raw bytes, each at a multiple of 64 from the start of the array part

Reading checks every length, the checksum, every field of the header (`model.header` has the table),
dtypes and shapes before an array is made, and says what was expected and what was found.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.errors import ModelFileError
from dgtrees.model.header import HEADERS, check_header
from dgtrees.schema import shown
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.leaf import LEAF_ARRAYS
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.writing import whole_file

__all__ = [
    "FORMAT_VERSION",
    "MAGIC",
    "base_arrays",
    "base_from",
    "forest_arrays",
    "forest_from",
    "read",
    "tree_arrays",
    "tree_from",
    "write",
]

MAGIC = b"DGTREES\n"
FORMAT_VERSION = 1
_PREFIX = struct.Struct("<8sIQ32s")
_ALIGNMENT = 64
_MOST_AXES = 3
_BY_NODE = ("weights", "bias", "left", "right")
_PARTS = (*_BY_NODE, *LEAF_ARRAYS)
_NEEDED = (*_BY_NODE, "leaf_values")
_DTYPES: dict[str, np.dtype] = {"<f8": np.dtype("<f8"), "<i4": np.dtype("<i4")}


def write(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write a model file; an existing file is replaced only once the new one is complete."""
    from dgtrees import __version__

    entries, blocks, offset = {}, [], 0
    for name, array in arrays.items():
        array = np.asarray(array)
        dtype = "<i4" if array.dtype.kind == "i" else "<f8"
        data = np.ascontiguousarray(array, dtype=_DTYPES[dtype]).tobytes()
        padding = -len(data) % _ALIGNMENT
        entries[name] = {"dtype": dtype, "shape": list(array.shape), "offset": offset}
        blocks += [data, bytes(padding)]
        offset += len(data) + padding
    meta = {"library_version": __version__, **header, "arrays": entries, "array_bytes": offset}
    text = json.dumps(meta, ensure_ascii=False, allow_nan=True).encode()
    body = b"".join([text, *blocks])
    prefix = _PREFIX.pack(MAGIC, FORMAT_VERSION, len(text), hashlib.sha256(body).digest())

    with whole_file(path, error=ModelFileError) as stream:
        stream.write(prefix)
        stream.write(body)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model file, checked."""
    start, body = _parts_of(Path(path))
    if start[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            f"{path}: a dgtrees model starts with {MAGIC!r}, this file with "
            f"{start[: len(MAGIC)]!r}: is it the right file?"
        )
    if len(start) < _PREFIX.size:
        raise ModelFileError(
            f"{path}: truncated, {len(start)} bytes of at least {_PREFIX.size}: copy it again"
        )
    _, version, header_length, checksum = _PREFIX.unpack(start)
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format version {version}, this library reads version {FORMAT_VERSION}: "
            "use the dgtrees that wrote it, or save the model again"
        )
    found = hashlib.sha256(body).digest()
    if found != checksum:
        raise ModelFileError(
            f"{path}: damaged, SHA-256 of the content is {found.hex()[:16]}.. where the file says "
            f"{checksum.hex()[:16]}..: copy it again"
        )
    header: Any = None
    try:
        header = json.loads(bytes(body[:header_length]))
        check_header(header)
        arrays = _arrays(header, body[header_length:])
    except (ValueError, RecursionError) as error:  # the latter: lists within lists, by thousands
        kind = header.get("kind") if isinstance(header, dict) else None
        what = kind if isinstance(kind, str) and kind in HEADERS else "model"
        raise ModelFileError(f"{path}: not a valid {what} ({error}): save it again") from error
    return header, arrays


def _parts_of(path: Path) -> tuple[bytes, memoryview]:
    """What comes before the header and, if that is a model's, the rest."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_PREFIX.size)
            rest = stream.read() if start.startswith(MAGIC) else b""
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{path}: cannot be read ({reason}): check the path") from error
    return start, memoryview(rest)


def _arrays(header: dict[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """The arrays, which must lie side by side as `write` puts them, with zeros between."""
    if header["array_bytes"] != len(data):
        raise ValueError(f"header says {header['array_bytes']} bytes of arrays, found {len(data)}")
    arrays, start = {}, 0
    for name, entry in header["arrays"].items():
        if entry["dtype"] not in _DTYPES:
            known = ", ".join(_DTYPES)
            raise ValueError(f"array {name} has dtype {shown(entry['dtype'])}, known are {known}")
        shape = tuple(entry["shape"])
        if len(shape) > _MOST_AXES or any(size < 0 for size in shape):
            raise ValueError(f"array {name} has shape {shown(shape)}")
        dtype = _DTYPES[entry["dtype"]]
        end = start + prod(shape) * dtype.itemsize
        following = end + -end % _ALIGNMENT
        if entry["offset"] != start or following > len(data):
            raise ValueError(
                f"array {name} of shape {shown(shape)} needs bytes {start}..{end} of "
                f"{len(data)}, the header says from {entry['offset']}"
            )
        if any(data[end:following]):
            raise ValueError(f"array {name} of shape {shown(shape)} is longer than its shape")
        arrays[name] = np.frombuffer(data[start:end], dtype).reshape(shape)
        start = following
    if start != len(data):
        raise ValueError(f"header tells of {start} bytes of arrays, found {len(data)}")
    return arrays


def tree_arrays(tree: ObliqueTree) -> dict[str, np.ndarray]:
    """A tree as named arrays, for `write`."""
    return {f"tree.{name}": array for name, array in _parts(tree).items()}


def tree_from(arrays: dict[str, np.ndarray]) -> ObliqueTree:
    """The tree that `tree_arrays` described; refuses arrays that do not fit each other."""
    try:
        names = [name for name in _PARTS if name in _NEEDED or f"tree.{name}" in arrays]
        return ObliqueTree(**{name: arrays[f"tree.{name}"] for name in names})
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"the model's arrays are not a tree: {error}") from error


def forest_arrays(trees: Sequence[ObliqueTree]) -> dict[str, np.ndarray]:
    """Trees as named arrays, one tree after the other, with the number of nodes of each."""
    arrays = {"forest.n_nodes": np.array([tree.n_nodes for tree in trees])}
    linear = np.array([tree.linear for tree in trees])
    if linear.any() and not linear.all():  # slopes are then those of the linear trees only
        arrays["forest.linear"] = linear.astype(np.int32)
    parts = [_parts(tree) for tree in trees]
    for name in _PARTS:
        found = [part[name] for part in parts if name in part]
        if found:
            arrays[f"forest.{name}"] = np.concatenate(found)
    return arrays


def forest_from(arrays: dict[str, np.ndarray]) -> list[ObliqueTree]:
    """The trees that `forest_arrays` described."""
    try:
        n_nodes = arrays["forest.n_nodes"].astype(np.int64)
        if n_nodes.ndim != 1 or not n_nodes.size or n_nodes.min() < 0:
            raise ValueError(f"forest.n_nodes must hold a number for every tree, got {n_nodes}")
        linear = _linear_trees(arrays, len(n_nodes))
        columns: dict[str, list[np.ndarray | None]] = {}
        for name in _PARTS:
            if name not in _NEEDED and f"forest.{name}" not in arrays:
                continue
            array = arrays[f"forest.{name}"]
            sizes = n_nodes if name in _BY_NODE else n_nodes + 1
            sizes = sizes if name in _NEEDED else sizes * linear
            if len(array) != sizes.sum():
                raise ValueError(f"{name} has {len(array)} rows where {sizes.sum()} are expected")
            columns[name] = list(np.split(array, np.cumsum(sizes)[:-1]))
            if name not in _NEEDED:
                parts = zip(columns[name], linear, strict=True)
                columns[name] = [part if has else None for part, has in parts]
        trees = zip(*columns.values(), strict=True)
        return [ObliqueTree(**dict(zip(columns, tree, strict=True))) for tree in trees]
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"the model's arrays are not a forest: {error}") from error


def _linear_trees(arrays: dict[str, np.ndarray], trees: int) -> np.ndarray:
    """Which trees of a forest with slopes have any, (trees,)."""
    linear = arrays.get("forest.linear")
    if linear is None:
        return np.ones(trees, dtype=bool)
    if linear.shape != (trees,) or not np.isin(linear, (0, 1)).all():
        raise ValueError(f"forest.linear must be 0 or 1 for every tree, got shape {linear.shape}")
    if "forest.leaf_weights" not in arrays:
        raise ValueError("forest.linear tells of slopes, and there is no forest.leaf_weights")
    return linear.astype(bool)


def base_arrays(forest: ObliqueForest) -> dict[str, np.ndarray]:
    """What is added to a sum of trees, as named arrays; none where nothing is."""
    if forest.base is None:
        return {}
    parts = _parts(forest.base)
    return {f"base.{name}": parts[name] for name in LEAF_ARRAYS if name in parts}


def base_from(arrays: dict[str, np.ndarray], n_features: int) -> ObliqueTree | None:
    """The one leaf that `base_arrays` described."""
    leaf = {name: arrays[f"base.{name}"] for name in LEAF_ARRAYS if f"base.{name}" in arrays}
    if not leaf:
        return None
    try:
        nodes = np.empty((0, n_features)), np.empty(0), np.empty(0), np.empty(0)
        return ObliqueTree(*nodes, **leaf)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model's arrays are not the base of a sum: {error}") from error


def _parts(tree: ObliqueTree) -> dict[str, np.ndarray]:
    parts = {name: getattr(tree, name) for name in _PARTS}
    return {name: array for name, array in parts.items() if array is not None}
