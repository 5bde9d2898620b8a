"""Headers of model files: those of the first release load, changed ones are refused or harmless.

A changed header comes with a right checksum. It must end in ModelFileError, or in a model that
answers as before; what a field itself says (a class's name, a range) may be another valid saying.
DGTREES_FUZZ sets the number of changed headers, 20000 for the long run.
"""

import copy
import hashlib
import json
import os
import random
import re
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgtrees
from dgtrees.errors import ModelFileError
from dgtrees.model import file
from dgtrees.model.header import HEADERS
from dgtrees.tree.state import PARTS, SQUARE
from small_models import answers, made

RELEASED = Path(__file__).parent / "released"
CHANGES = int(os.environ.get("DGTREES_FUZZ", "2800"))
MEMORY = 32 * 2**20

NAMES = (
    "tree", "tree-numbers", "values", "linear", "forest", "forest-values", "forest-linear", "tao",
    "tao-values", "policy", "policy-linear", "policy-paper", "policy-new", "policy-continuous",
)  # fmt: skip
NEWER = (
    "forest-chosen", "boosting", "boosting-values", "boosting-linear", "self-training",
    "self-training-values", "clusters", "codes",
    "bags", "bags-several",
)  # fmt: skip
"""Models that the first release did not have."""

# Fields that are themselves what a model answers, or the rows it is asked about.
SAYINGS = re.compile(
    r"/(classes(/\d+)?|combine|single_output|target_range(/.*)?"
    r"|class_factors(/\d+)?|exponent|encoder/\d+/(median|bent(/\d+)?|categories(/\d+)?)"
    r"|parameters/(loss_range(/.*)?|low|high)|recipe/clip|recipe/explore(/.*)?)"
)


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made()


@pytest.fixture(scope="module")
def saved(models, tmp_path_factory):
    """Name to header, array bytes, rows and answers."""
    path, found = tmp_path_factory.mktemp("saved") / "m.dgt", {}
    for name, (model, X) in models.items():
        model.save(path)
        found[name] = (*split(path.read_bytes()), X, answers(model, X))
    return found


def split(content):
    length = file._PREFIX.unpack_from(content)[2]
    body = content[file._PREFIX.size :]
    return json.loads(body[:length]), body[length:]


def packed(text, arrays):
    """A file with this header and a right checksum."""
    body = text.encode("utf-8", "surrogatepass") + arrays
    length = len(body) - len(arrays)
    digest = hashlib.sha256(body).digest()
    return file._PREFIX.pack(file.MAGIC, file.FORMAT_VERSION, length, digest) + body


def test_there_is_a_table_for_every_kind(models):
    kinds = {type(m).__name__ for m, _ in models.values()}
    assert set(HEADERS) == set(dgtrees._KINDS) == kinds | {"Model"}  # whose test is test_nn_layer
    assert set(models) == {*NAMES, *NEWER}


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_first_release_load_and_answer_as_then(name, models):
    model = dgtrees.load(RELEASED / f"{name}.dgt")
    said = json.loads((RELEASED / "answers.json").read_text())[name]
    now = answers(model, models[name][1])
    assert now.keys() == said.keys()
    for way, answer in said.items():
        if isinstance(answer, str) or not isinstance(np.ravel(answer)[0], np.floating):
            assert now[way] == answer
        else:  # softmax may differ in the last digit from machine to machine
            np.testing.assert_allclose(now[way], answer, rtol=1e-12)


# The changes


HOSTILE = (
    None, True, False, 0, 1, -1, 2, 3, 7, 64, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.0, -0.0,
    0.5, -1.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"), "", "0", "-1",
    "nan", "a", "\x00", "\ud800", "x" * 5000, "<f8,", "<U1000000000", "(1)f8", "|O", "f8,f8", "<i4",
    "number", "category", "linear", "constant", "vote", "mean", "softmax", "paper", [], [[]], [0],
    [None], [[[[]]]], [1, 2, 3], ["a", "b"], {}, {"a": 1}, {"tuple": []}, {"dict": []},
    {"dict": [[{"dict": []}, 1]]}, {"tuple": {"dict": 3}}, {"rule": "epsilon"}, {"rule": []},
)  # fmt: skip


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def places(value, path=()):
    """All values within a header, as paths."""
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from places(item, (*path, key))


def at(header, path):
    for key in path:
        header = header[key]
    return header


def other(value, rng):
    """A value near this one, or of another type."""
    ways = [lambda: [value], lambda: {"a": value}, lambda: {"tuple": [value]}, lambda: str(value)]
    if isinstance(value, bool):
        ways += [lambda: not value, lambda: int(value)]
    elif isinstance(value, (int, float)):
        near = (value + 1, value - 1, -value, 2 * value, value * 10**6, value / 3, float(value))
        ways += [lambda: rng.choice(near)] * 3
        ways += [lambda: int(value) if value == value and abs(value) < 1e300 else 0]
    elif isinstance(value, str):
        ways += [lambda: value + "a", lambda: value[:-1], lambda: value.upper(), lambda: value * 9]
    elif isinstance(value, list):
        ways += [
            lambda: value[:-1],
            lambda: value[::-1],
            lambda: value + value[:1],
            lambda: value * 3,
        ]
        ways += [lambda: dict(enumerate(map(str, value)))]
    elif isinstance(value, dict):
        ways += [lambda: list(value), lambda: list(value.values()), lambda: {**value, "": 1}]
    return rng.choice(ways)()


def changed(text, paths, rng):
    """A header with one or two changes, and where they are."""
    header, touched = json.loads(text), []
    for path in rng.sample(paths, rng.choice((1, 1, 1, 2))):
        with suppress(LookupError, TypeError):  # the place has gone with the first change
            parent, key = at(header, path[:-1]), path[-1]
            change(parent, key, at(json.loads(text), rng.choice(paths)), rng)
            touched.append("/" + "/".join(map(str, path)))
    return header, touched


def change(parent, key, elsewhere, rng):
    now, way = parent[key], rng.randrange(8)
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, dict):
        names = ("new", "", "tuple", "dict", "state.x", "kind", "tree.left")
        parent[rng.choice(names)] = rng.choice((now, *HOSTILE))
    elif way == 2:
        parent[key] = elsewhere
    elif way in (3, 4):
        parent[key] = other(now, rng)
    elif way == 5 and rng.random() < 0.2:
        parent[key] = nested(rng.choice((3, 30, 300)))
    else:
        parent[key] = copy.deepcopy(rng.choice(HOSTILE))


def same(one, two):
    return one == two or json.dumps(one) == json.dumps(two)  # NaN is not equal to itself


def outcome(content, X, path):
    """What becomes of a file: the error, or the answers; and the memory that took."""
    with path.open("r+b" if path.exists() else "wb") as stream:  # quicker than a new file each time
        stream.write(content)
        stream.truncate()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    found, refusal = None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, about names of columns
            found = answers(dgtrees.load(path), X)
    except ModelFileError as error:
        refusal = str(error)
    except ValueError as error:  # another name of a column, which rows are then asked for
        if not str(error).startswith("The feature names should match"):
            raise
        found = {}
    assert found is not None or refusal.startswith(f"{path}: ")
    assert "\n" not in refusal and len(refusal) < 1000
    return found, tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize("name", NAMES)
def test_changed_headers_are_refused_or_harmless(name, saved, tmp_path):
    header, arrays, X, said = saved[name]
    text, paths = json.dumps(header), list(places(header))
    rng = random.Random(NAMES.index(name))
    refused = harmless = 0
    tracemalloc.start()
    try:
        for _ in range(-(-CHANGES // len(NAMES))):
            other, touched = changed(text, paths, rng)
            content = packed(json.dumps(other, ensure_ascii=False), arrays)
            found, memory = outcome(content, X, tmp_path / "m.dgt")
            assert memory < MEMORY, (touched, memory)
            refused += found is None
            harmless += found is not None
            if found is not None and any(SAYINGS.fullmatch(place) for place in touched):
                assert not found or found.keys() == said.keys(), touched
            elif found:
                assert same(found, said), touched
    finally:
        tracemalloc.stop()
    assert refused and harmless


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=300)
@given(data=st.data())
def test_any_value_in_any_field_is_taken_or_refused(data):
    kind = data.draw(st.sampled_from(sorted(HEADERS)))
    field = data.draw(st.sampled_from(sorted(HEADERS[kind])))
    with suppress(ValueError):
        HEADERS[kind][field](data.draw(JSON), field)


@pytest.mark.parametrize("name", ["tree", "forest", "policy", "tao"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"kind":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "9" * 5000,
        "null",
        "[]",
        "{}",
        "",
        "NaN",
        '{"kind": "DGTBandit"',
        '{"kind": ["DGTBandit"], "arrays": {}, "array_bytes": 0}',
        '{"kind": "DGTBandit", "arrays": {}, "array_bytes": 0}',
        '{"arrays": {}, "array_bytes": 0}',
        '{"arrays": [], "array_bytes": 0}',
        '{"arrays": {"a": 1}, "array_bytes": 0}',
        '{"arrays": {"a": {"dtype": [], "shape": 1, "offset": {}}}, "array_bytes": 0}',
    ],
)
def test_headers_that_are_none(text, name, saved, tmp_path):
    arrays = saved[name][1] if "array_bytes" not in text else b""
    (tmp_path / "m.dgt").write_bytes(packed(text, arrays))
    with pytest.raises(ModelFileError, match=r"m\.dgt: ") as caught:
        dgtrees.load(tmp_path / "m.dgt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("policy", lambda h: h["parameters"].update(max_depth=16, n_actions=9000)),
        ("policy", lambda h: h["parameters"].update(max_depth=16)),
        ("policy-linear", lambda h: h.update(n_features=10**8)),
        ("policy-new", lambda h: h.update(n_features=10**8)),
        ("policy-new", lambda h: h["parameters"].update(max_depth=16) or h.update(n_features=9999)),
        ("policy-continuous", lambda h: h["parameters"].update(max_depth=16)),
        ("tree", lambda h: h.update(classes_dtype="<U1000000000")),
        ("tree", lambda h: h["arrays"]["tree.bias"].update(shape=[2**32, 2**32])),
        ("tree", lambda h: h["arrays"]["tree.bias"].update(shape=[0, 2**62])),
    ],
)
def test_declared_sizes_are_bounded_by_what_the_file_holds(name, change, saved, tmp_path):
    header, arrays, X, said = saved[name]
    header = copy.deepcopy(header)
    change(header)
    tracemalloc.start()
    try:
        found, memory = outcome(packed(json.dumps(header), arrays), X, tmp_path / "m.dgt")
    finally:
        tracemalloc.stop()
    assert memory < 2**20
    assert found is None or same(found, said)


@pytest.mark.parametrize("field", [name for name, part in PARTS.items() if part.not_negative])
def test_negative_second_moments_are_refused(field, models, tmp_path):
    models["policy-linear"][0].save(tmp_path / "p.dgt")
    header, arrays = file.read(tmp_path / "p.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    changed = arrays[f"state.{field}"].copy()
    changed[(0,) * changed.ndim] = -1e-3
    file.write(tmp_path / "p.dgt", keep, {**arrays, f"state.{field}": changed})
    with pytest.raises(
        ModelFileError, match=f"not a valid DGTBandit.*{field} must not be negative"
    ):
        dgtrees.load(tmp_path / "p.dgt")


def test_negative_spreads_are_refused(models, tmp_path):
    models["forest-values"][0].save(tmp_path / "f.dgt")
    header, arrays = file.read(tmp_path / "f.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    for name in ("intervals.typical_spread", "intervals.errors"):
        file.write(tmp_path / "f.dgt", keep, {**arrays, name: -arrays[name]})
        with pytest.raises(ModelFileError, match="errors and spreads must be at least 0"):
            dgtrees.load(tmp_path / "f.dgt")


def test_numbers_that_a_policy_cannot_hold_are_refused(models, tmp_path):
    models["policy-linear"][0].save(tmp_path / "p.dgt")
    header, arrays = file.read(tmp_path / "p.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    for name in ("nodes", "memory", "answers", "shift"):
        large = np.full_like(arrays[f"state.{name}"], 1e300 if name != "shift" else np.inf)
        file.write(tmp_path / "q.dgt", keep, {**arrays, f"state.{name}": large})
        with pytest.raises(ModelFileError, match="not a valid DGTBandit"):
            dgtrees.load(tmp_path / "q.dgt")


def test_a_negative_square_of_the_bias_is_refused(models, tmp_path):
    models["policy-paper"][0].save(tmp_path / "p.dgt")
    header, arrays = file.read(tmp_path / "p.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    bias = arrays["state.bias"].copy()
    bias[SQUARE] = -1.0
    file.write(tmp_path / "p.dgt", keep, {**arrays, "state.bias": bias})
    with pytest.raises(ModelFileError, match="bias must not have a negative square, got -1"):
        dgtrees.load(tmp_path / "p.dgt")
