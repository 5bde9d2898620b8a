"""One model, one file: arrays and a JSON header, no pickle.

Layout, all integers little-endian::

    8 bytes   b"DGTREES\\n"
    4 bytes   format version
    8 bytes   length of the header
    32 bytes  SHA-256 of everything that follows
    header    JSON: what the model is, and name, dtype, shape, offset of every array
    arrays    raw bytes, each at a multiple of 64 from the start of the array part

Reading checks every length, the checksum, dtypes and shapes before an array is made, and says
what was expected and what was found.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.data.writing import whole_file
from dgtrees.errors import ModelFileError
from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "FORMAT_VERSION",
    "MAGIC",
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
_BY_NODE = ("weights", "bias", "left", "right")
_BY_LEAF = ("leaf_values", "leaf_weights")
_DTYPES: dict[str, np.dtype] = {"<f8": np.dtype("<f8"), "<i4": np.dtype("<i4")}


def write(path: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
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


def read(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model file, checked."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from error
    if content[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            f"{path}: a dgtrees model starts with {MAGIC!r}, this file with "
            f"{content[: len(MAGIC)]!r}: is it the right file?"
        )
    if len(content) < _PREFIX.size:
        raise ModelFileError(
            f"{path}: truncated, {len(content)} bytes of at least {_PREFIX.size}: copy it again"
        )
    _, version, header_length, checksum = _PREFIX.unpack_from(content)
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format version {version}, this library reads version {FORMAT_VERSION}: "
            "use the dgtrees that wrote it, or save the model again"
        )
    body = memoryview(content)[_PREFIX.size :]
    found = hashlib.sha256(body).digest()
    if found != checksum:
        raise ModelFileError(
            f"{path}: damaged, SHA-256 of the content is {found.hex()[:16]}.. where the file says "
            f"{checksum.hex()[:16]}..: copy it again"
        )
    try:
        header = json.loads(bytes(body[:header_length]))
        arrays = _arrays(header, body[header_length:])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: not a valid model ({error})") from error
    return header, arrays


def _arrays(header: dict[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    if header["array_bytes"] != len(data):
        raise ValueError(f"header says {header['array_bytes']} bytes of arrays, found {len(data)}")
    arrays = {}
    for name, entry in header["arrays"].items():
        if entry["dtype"] not in _DTYPES:
            known = ", ".join(_DTYPES)
            raise ValueError(f"array {name} has dtype {entry['dtype']}, known are {known}")
        shape = tuple(entry["shape"])
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError(f"array {name} has shape {shape}")
        dtype = _DTYPES[entry["dtype"]]
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        start = entry["offset"]
        if not (isinstance(start, int) and start >= 0 and start + size <= len(data)):
            raise ValueError(
                f"array {name} of shape {shape} needs bytes {start}..{start + size}, "
                f"there are {len(data)}"
            )
        arrays[name] = np.frombuffer(data[start : start + size], dtype).reshape(shape)
    return arrays


def tree_arrays(tree: ObliqueTree) -> dict[str, np.ndarray]:
    """A tree as named arrays, for `write`."""
    return {f"tree.{name}": array for name, array in _parts(tree).items()}


def tree_from(arrays: dict[str, np.ndarray]) -> ObliqueTree:
    """The tree that `tree_arrays` described; refuses arrays that do not fit each other."""
    try:
        tree = {name: arrays[f"tree.{name}"] for name in (*_BY_NODE, "leaf_values")}
        return ObliqueTree(**tree, leaf_weights=arrays.get("tree.leaf_weights"))
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"the model's arrays are not a tree: {error}") from error


def forest_arrays(trees: Sequence[ObliqueTree]) -> dict[str, np.ndarray]:
    """Trees as named arrays, one tree after the other, with the number of nodes of each."""
    parts = [_parts(tree) for tree in trees]
    joined = {f"forest.{name}": np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {"forest.n_nodes": np.array([tree.n_nodes for tree in trees]), **joined}


def forest_from(arrays: dict[str, np.ndarray]) -> list[ObliqueTree]:
    """The trees that `forest_arrays` described."""
    try:
        n_nodes = arrays["forest.n_nodes"].astype(np.int64)
        if n_nodes.ndim != 1 or not n_nodes.size or n_nodes.min() < 0:
            raise ValueError(f"forest.n_nodes must hold a number for every tree, got {n_nodes}")
        columns: dict[str, list[np.ndarray]] = {}
        for name in (*_BY_NODE, *_BY_LEAF):
            if name == "leaf_weights" and f"forest.{name}" not in arrays:
                continue
            array = arrays[f"forest.{name}"]
            sizes = n_nodes if name in _BY_NODE else n_nodes + 1
            if len(array) != sizes.sum():
                raise ValueError(f"{name} has {len(array)} rows where {sizes.sum()} are expected")
            columns[name] = np.split(array, np.cumsum(sizes)[:-1])
        trees = zip(*columns.values(), strict=True)
        return [ObliqueTree(**dict(zip(columns, tree, strict=True))) for tree in trees]
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"the model's arrays are not a forest: {error}") from error


def _parts(tree: ObliqueTree) -> dict[str, np.ndarray]:
    parts = {name: getattr(tree, name) for name in (*_BY_NODE, *_BY_LEAF)}
    return {name: array for name, array in parts.items() if array is not None}
