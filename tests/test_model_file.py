"""Model files: what is written is read; anything else is refused with both sides named."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.errors import ModelFileError
from dgtrees.model import file
from dgtrees.tree import ObliqueTree


def tree(linear=False):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 2))
    return ObliqueTree.complete(
        weights,
        rng.normal(size=3),
        rng.normal(size=(4, 1)),
        rng.normal(size=(4, 1, 2)) if linear else None,
    )


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.dgt"
    file.write(path, {"kind": "test", "note": "π"}, file.tree_arrays(tree()))
    return path


@pytest.mark.parametrize("linear", [False, True])
def test_round_trip_is_exact(tmp_path, linear):
    original = tree(linear)
    path = tmp_path / "model.dgt"
    file.write(path, {"kind": "test", "score": 0.1}, file.tree_arrays(original))
    header, arrays = file.read(path)
    assert header["kind"] == "test" and header["score"] == 0.1
    again = file.tree_from(arrays)
    for name in ("weights", "bias", "left", "right", "leaf_values", "leaf_weights"):
        assert np.array_equal(getattr(again, name), getattr(original, name))


def test_nothing_is_left_behind_by_a_failed_write(tmp_path, model):
    before = model.read_bytes()
    with pytest.raises(TypeError):
        file.write(model, {"kind": object()}, {})
    assert model.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.dgt"]


@settings(max_examples=300)
@given(data=st.data())
def test_any_damage_is_noticed(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.dgt"
    file.write(path, {"kind": "test"}, file.tree_arrays(tree()))
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), label="truncate"):
        content = content[: data.draw(st.integers(0, len(content) - 1), label="length")]
    else:
        place = data.draw(st.integers(0, len(content) - 1), label="place")
        content[place] ^= data.draw(st.integers(1, 255), label="bits")
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match=r"model\.dgt: "):
        file.read(path)


def rewritten(path, change):
    """The file with its header changed and its checksum made right again."""
    import hashlib

    content = path.read_bytes()
    magic, version, length, _ = file._PREFIX.unpack_from(content)
    body = content[file._PREFIX.size :]
    header = json.loads(body[:length])
    change(header)
    text = json.dumps(header).encode()
    body = text + body[length:]
    checksum = hashlib.sha256(body).digest()
    path.write_bytes(file._PREFIX.pack(magic, version, len(text), checksum) + body)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["arrays"]["tree.bias"].update(shape=[10**6]), "needs bytes"),
        (lambda h: h["arrays"]["tree.bias"].update(shape=[-1]), "has shape"),
        (lambda h: h["arrays"]["tree.bias"].update(dtype="|O"), r"dtype '\|O', known are <f8, <i4"),
        (lambda h: h["arrays"]["tree.bias"].update(offset=-8), "needs bytes"),
        (lambda h: h["arrays"]["tree.bias"].update(offset=0), "needs bytes"),
        (lambda h: h["arrays"]["tree.bias"].update(shape=[2]), "longer than its shape"),
        (lambda h: h["arrays"]["tree.bias"].update(shape=[2**32, 2**32]), "needs bytes"),
        (lambda h: h.update(array_bytes=1), "header says 1 bytes of arrays, found"),
        (lambda h: h.pop("arrays"), "not a valid model"),
    ],
)
def test_headers_that_do_not_fit_the_arrays(model, change, message):
    with pytest.raises(ModelFileError, match=message):
        file.read(rewritten(model, change))


def test_arrays_that_do_not_fit_each_other(model):
    arrays = file.read(model)[1]
    file.write(model, {"kind": "test"}, {**arrays, "tree.bias": arrays["tree.bias"][:2]})
    with pytest.raises(ModelFileError, match=r"bias must have shape \(3,\), got \(2,\)"):
        file.tree_from(file.read(model)[1])


@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/urandom"])
def test_a_file_is_not_read_before_it_is_known_to_be_a_model(endless):
    with pytest.raises(ModelFileError, match="is it the right file"):
        file.read(endless)


def test_other_versions_and_other_files(model, tmp_path):
    content = bytearray(model.read_bytes())
    content[8:12] = struct.pack("<I", 7)
    model.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="format version 7, this library reads version 1"):
        file.read(model)
    other = tmp_path / "other"
    other.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(ModelFileError, match="starts with b'DGTREES"):
        file.read(other)
    with pytest.raises(ModelFileError, match=r"cannot be read.*: check the path"):
        file.read(tmp_path / "absent.dgt")
