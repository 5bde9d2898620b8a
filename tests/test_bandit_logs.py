import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dgtrees.bandit.logs import Log, read_log, write_log
from dgtrees.errors import DataError, DGTreesError

LINE = {"x": [1.5, 0], "action": 1, "probability": 0.7, "loss": 0.25}


def jsonl(*events):
    return io.StringIO("".join(json.dumps(event) + "\n" for event in events))


def read(text, format, **options):
    return read_log(io.StringIO(text), format, **options)


def test_our_own_lines():
    log = read_log(jsonl(LINE, {**LINE, "action": 3, "probability": 1, "loss": -2, "more": "?"}))
    assert log.X.tolist() == [[1.5, 0.0], [1.5, 0.0]] and log.X.dtype == np.float64
    assert log.actions.tolist() == [1, 3] and log.n_actions == 4
    assert log.probabilities.tolist() == [0.7, 1.0] and log.losses.tolist() == [0.25, -2.0]
    assert log.feature_names == ("f0", "f1")


def test_features_by_name_are_columns_in_a_sorted_order():
    log = read_log(
        jsonl(
            {**LINE, "x": {"f10": 1, "f2": True, "user": {"city": "Oslo"}}},
            {**LINE, "x": {"f1": -4, "user": {"city": "Rome", "age": 30}}},
        )
    )
    assert log.feature_names == ("f1", "f2", "f10", "user^age", "user^city=Oslo", "user^city=Rome")
    assert log.X.tolist() == [[0, 1, 1, 0, 1, 0], [-4, 0, 0, 30, 0, 1]]


def test_vw_text():
    log = read(
        "1:2:0.4 | a:1.5 b\n"
        "\n"
        "4:-1:0.1 'tag |user:2 age:3 b:0.5 |item b:1e1 x:y:2 |\n"
        "2:0:1 tag| a:1 a:2\n",
        "vw",
    )
    assert log.feature_names == ("a", "b", "item^b", "item^x:y", "user^age", "user^b")
    assert log.X.tolist() == [[1.5, 1, 0, 0, 0, 0], [0, 0, 10, 2, 6, 1], [3, 0, 0, 0, 0, 0]]
    assert log.actions.tolist() == [0, 3, 1] and log.n_actions == 4
    assert log.losses.tolist() == [2, -1, 0] and log.probabilities.tolist() == [0.4, 0.1, 1.0]


DSJSON = {
    "_label_cost": -1.0,
    "_label_probability": 0.8,
    "_label_Action": 2,
    "_labelIndex": 1,
    "a": [2, 1, 3],
    "p": [0.8, 0.1, 0.1],
    "c": {
        "user": {"id": "ann", "age": 30, "_hidden": 1, "tags": [0.5, 2], "gone": None},
        "weekend": True,
        "_multi": [{"item": {"id": "a"}}, {"item": {"id": "b"}}, {"item": {"id": "c"}}],
    },
    "VWState": {"m": "x"},
}


def test_dsjson():
    log = read(json.dumps(DSJSON), "dsjson")
    assert dict(zip(log.feature_names, log.X[0].tolist(), strict=True)) == {
        "user^age": 30,
        "user^id=ann": 1,
        "user^tags^0": 0.5,
        "user^tags^1": 2,
        "weekend": 1,
    }
    assert (log.actions[0], log.probabilities[0], log.losses[0]) == (1, 0.8, -1.0)
    assert log.n_actions == 3


def test_chosen_columns_and_actions():
    named = jsonl({**LINE, "x": {"a": 1, "b": 2}}, {**LINE, "x": {"b": 3, "c": 4}})
    log = read_log(named, n_actions=9, feature_names=("b", "z", "a"))
    assert log.feature_names == ("b", "z", "a") and log.n_actions == 9
    assert log.X.tolist() == [[2, 0, 1], [3, 0, 0]]
    listed = read_log(jsonl(LINE), feature_names=("f1", "f7", "f0"))
    assert listed.X.tolist() == [[0, 0, 1.5]]
    with pytest.raises(DataError, match=r"line 1: the action must be one of 1, got 1 \(2 count"):
        read_log(jsonl(LINE), n_actions=1)


@pytest.mark.parametrize(
    ("suffix", "opener"), [("", open), (".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)]
)
def test_files_by_suffix(suffix, opener, tmp_path):
    path = tmp_path / f"log.jsonl{suffix}"
    with opener(path, "wt", encoding="utf-8") as stream:
        stream.write("\ufeff" + jsonl(LINE).getvalue().replace("\n", "\r\n"))
    assert read_log(path).actions.tolist() == [1]
    assert read_log(str(path)).actions.tolist() == [1]
    write_log(read_log(path), path)
    assert read_log(path).X.tolist() == [[1.5, 0.0]]


@st.composite
def logs(draw):
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    named = draw(st.booleans())
    return Log(
        draw(hnp.arrays(float, (rows, columns), elements=numbers)),
        draw(hnp.arrays(np.int64, rows, elements=st.integers(0, 4))),
        draw(hnp.arrays(float, rows, elements=st.floats(1e-300, 1))),
        draw(hnp.arrays(float, rows, elements=numbers)),
        5,
        tuple(f"ä {j}" for j in range(columns)) if named else (),
    )


@given(logs())
def test_what_is_written_is_read_back_exactly(log):
    stream = io.StringIO()
    write_log(log, stream)
    stream.seek(0)
    again = read_log(stream, n_actions=5, feature_names=log.feature_names)
    assert again.feature_names == log.feature_names
    for name in ("X", "actions", "probabilities", "losses"):
        assert np.array_equal(getattr(again, name), getattr(log, name)), name


@pytest.mark.parametrize(
    ("format", "line", "message"),
    [
        ("jsonl", {**LINE, "probability": 0}, "must be above 0 and at most 1, got 0: log how"),
        ("jsonl", {**LINE, "probability": 1.5}, "must be above 0 and at most 1, got 1.5"),
        ("jsonl", {**LINE, "loss": float("nan")}, "the loss must be a finite number, got nan"),
        ("jsonl", {**LINE, "loss": None}, "the loss must be a finite number, got None"),
        ("jsonl", {**LINE, "action": -1}, "must be a whole number from 0, got -1"),
        ("jsonl", {**LINE, "action": True}, "must be a whole number from 0, got True"),
        ("jsonl", {**LINE, "action": 1.0}, "must be a whole number from 0, got 1.0"),
        ("jsonl", {**LINE, "action": 10**30}, "must be a whole number from 0, got 1000"),
        ("jsonl", {**LINE, "x": [1]}, "must agree on x, got a list of 1 features after a list of"),
        ("jsonl", {**LINE, "x": {"a": 1}}, "got features by name after a list of 2 features"),
        ("jsonl", {**LINE, "x": [1, "2x"]}, r"x\[1\] must be a finite number, got '2x'"),
        ("jsonl", {**LINE, "x": [1, 10**400]}, r"x\[1\] must be a finite number"),
        ("jsonl", {**LINE, "x": 3}, "x must be a list or an object of features, got 3"),
        ("jsonl", {"x": [1, 2], "action": 0}, "the field 'probability' must be there, got 'action"),
        ("jsonl", [1, 2], r"must be one JSON object, got \[1, 2\]"),
        ("jsonl", "{'x': 1}", "must be one JSON object, got .* is this the right format"),
        ("jsonl", "[" * 100_000, "nested too deeply"),
        ("vw", "1:0:0.5 f:1", "must read action:cost:probability | features"),
        ("vw", "| f:1", "must read action:cost:probability | features"),
        ("vw", "1:0:0.5| f:1", "got the tag '1:0:0.5': put a space between"),
        ("vw", "0:0:0.5 | f:1", "must be a whole number from 1, got 0: this format counts"),
        ("vw", "1:0:0 | f:1", "must be above 0 and at most 1, got '0'"),
        ("vw", "1:nan:0.5 | f:1", "the cost must be a finite number, got 'nan'"),
        ("vw", "1:0 | f:1", "must be one action:cost:probability, got '1:0'"),
        ("vw", "1:0:0.5 2 3 | f:1", "must be one action:cost:probability, got '1:0:0.5 2 3'"),
        ("vw", "1:0:0.5 | f:red", "the feature 'f' must be a finite number, got 'red'"),
        ("vw", "1:0:0.5 | :2", "must have a name, got ':2'"),
        ("vw", "1:0:0.5 |n:x f", "the weight of namespace 'n' must be a finite number"),
        ("vw", "shared | f:1", "got 'shared', which starts the several lines of --cb_adf"),
        ("dsjson", {**DSJSON, "_label_Action": 0}, "must be a whole number from 1, got 0"),
        ("dsjson", {**DSJSON, "_label_Action": 4}, "room for action 4, got a: 3, p: 3, _multi: 3"),
        ("dsjson", {**DSJSON, "p": [1]}, "must be of one length"),
        ("dsjson", {**DSJSON, "p": 1}, "p must be a list, one entry an action, got 1"),
        ("dsjson", {**DSJSON, "c": "x"}, "the context c must be an object, got 'x'"),
        ("dsjson", {**DSJSON, "c": {"a": {"b": 1}, "a^b": 2}}, r"got two for 'a\^b'"),
        ("dsjson", {"c": {}}, "the field '_label_Action' must be there, got 'c'"),
    ],
)
def test_lines_that_cannot_be_meant(format, line, message):
    good = {"jsonl": json.dumps(LINE), "vw": "1:0:0.5 | f:1", "dsjson": json.dumps(DSJSON)}
    bad = line if isinstance(line, str) else json.dumps(line)
    with pytest.raises(DataError, match=r"^the StringIO, line 2: ") as caught:
        read(f"{good[format]}\n{bad}\n", format)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    with pytest.raises(DataError, match=message):
        raise caught.value


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        read_log(tmp_path / "none.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    with pytest.raises(DataError, match=r"empty\.jsonl: a log must have at least one line"):
        read_log(empty)
    latin = tmp_path / "latin.vw"
    latin.write_bytes(b"1:0:0.5 | f\n1:0:0.5 | caf\xe9\n")
    with pytest.raises(
        DataError, match=r"latin\.vw, line 2, byte 14: must be utf-8, got the byte 0xe9"
    ):
        read_log(latin, "vw")
    packed = gzip.compress(b"1:0:0.5 | f\n" * 1000)
    (tmp_path / "cut.gz").write_bytes(packed[:-12])
    with pytest.raises(DataError, match=r"cut\.gz: damaged compressed file"):
        read_log(tmp_path / "cut.gz", "vw")
    for opener, suffix in ((bz2, "bz2"), (lzma, "xz")):
        (tmp_path / f"cut.{suffix}").write_bytes(opener.compress(b"1:0:0.5 | f\n" * 9)[:-6])
        with pytest.raises(DataError, match="damaged compressed file"):
            read_log(tmp_path / f"cut.{suffix}", "vw")
    with pytest.raises(ValueError, match="format must be one of jsonl, vw, dsjson, got 'csv'"):
        read_log(latin, "csv")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from(["jsonl", "vw", "dsjson"]), st.data())
def test_every_text_is_a_log_or_an_error_that_names_the_line(format, data):
    start = {"jsonl": LINE, "dsjson": DSJSON}
    if format == "vw":
        atoms = ["1", ":", "0.5", " ", "|", "a", "'", "nan", "-3", "1e999", "\t", "ns", "shared"]
        lines = st.lists(st.sampled_from(atoms)).map("".join) | st.text(max_size=20)
        lines = lines | lines.map(lambda end: f"1:0:0.5 | {end}")
    else:
        keys = st.sampled_from([*start[format], "x", "other"])
        changed = st.dictionaries(keys, json_values, max_size=3)
        lines = changed.map(lambda change: json.dumps({**start[format], **change}))
        lines = lines | st.text(max_size=20) | json_values.map(json.dumps)
    text = "\n".join(data.draw(st.lists(lines, max_size=4)))
    blob = text.encode("utf-8", "surrogatepass") + data.draw(st.just(b"") | st.binary(max_size=4))
    try:
        log = read_log(io.BytesIO(blob), format)
    except DGTreesError as error:
        named = str(error).startswith(("the BytesIO, line ", "the BytesIO: "))
        assert named and "\n" not in str(error), error  # noqa: PT017
    else:
        assert isinstance(log, Log) and len(log) >= 1
        assert np.isfinite(log.X).all() and log.X.shape == (len(log), len(log.feature_names))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [1.0, 2.0]}, r"X must have shape \(rows, d\), got \(2,\)"),
        ({"X": [[1.0], [np.inf]]}, "X must be finite, got .inf. in row 1"),
        ({"actions": [0, 2]}, "actions must be from 0 to 1, got 2 in row 1"),
        ({"actions": [0.0, 1.0]}, "actions must be whole numbers, got dtype float64"),
        ({"probabilities": [0.5, 0.0]}, "above 0 and at most 1, got 0.0 in row 1"),
        ({"probabilities": [np.nan, 0.5]}, "above 0 and at most 1, got nan in row 0"),
        ({"losses": [0.0, np.nan]}, "losses must be finite, got nan in row 1"),
        ({"losses": [0.0]}, r"losses must have shape \(2,\), got \(1,\)"),
        ({"feature_names": ("a", "b")}, "feature_names must name 1 columns, got 2"),
    ],
)
def test_arrays_that_are_no_log(change, message):
    arrays = {
        "X": [[1.0], [2.0]],
        "actions": [0, 1],
        "probabilities": [0.5, 0.5],
        "losses": [0.0, 1.0],
    }
    with pytest.raises(ValueError, match=message):
        Log(**{**arrays, **change}, n_actions=2)


def test_a_log_is_a_value():
    X = np.ones((3, 1))
    log = Log(X, [0, 1, 0], [0.5] * 3, [0.0, 1.0, 2.0], 2)
    X[0] = 7
    assert log.X[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        log.losses[0] = 3
    part = log.take(log.losses > 0)
    assert len(part) == 2 and part.losses.tolist() == [1, 2] and part.n_actions == 2


def test_names_that_are_really_values_do_not_eat_the_memory(monkeypatch):
    monkeypatch.setattr("dgtrees.bandit.logs._MAX_CELLS", 10)
    text = "".join(f"1:0:0.5 | user_{i}\n" for i in range(4))
    with pytest.raises(DataError, match="got 4 lines of 4 names: choose the columns to keep"):
        read(text, "vw")
    assert read(text, "vw", feature_names=("user_0",)).X.ravel().tolist() == [1, 0, 0, 0]


def test_features_have_different_names():
    with pytest.raises(ValueError, match="must differ from each other, got 'a' twice"):
        Log(np.ones((1, 3)), [0], [1.0], [0.0], n_actions=1, feature_names=("a", "b", "a"))
