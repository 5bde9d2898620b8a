"""Labels that mean the same are one class, labels that differ stay different."""

import io
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dgtrees.cli.app import run
from dgtrees.errors import DataError
from dgtrees.tables.table import TableStream, read_table
from dgtrees.tables.targets import one_spelling


def read(labels) -> list:
    text = "x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    return read_table(io.BytesIO(text.encode()), "y").y.tolist()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ("True true FALSE TRUE False", "true true false true false"),
        ("True TRUE FALSE", "True True False"),
        ("TRUE tRUE FALSE", "TRUE TRUE FALSE"),
        ("tRUE trUE fALSE", "true true false"),
        # One spelling a class is kept as it is.
        ("TRUE FALSE TRUE", "TRUE FALSE TRUE"),
        ("True false True", "True false True"),
        # Words among others are words.
        ("True true maybe", "True true maybe"),
    ],
)
def test_true_and_false_are_one_pair_of_classes(labels, classes):
    assert read(labels.split() * 2) == classes.split() * 2


def test_a_file_read_in_batches_has_the_same_classes(tmp_path):
    frame = pa.table({"x": np.arange(6.0), "y": ["TRUE", "FALSE", "True", "true", "False", "TRUE"]})
    path = tmp_path / "flags.parquet"
    parquet.write_table(frame, path, row_group_size=2)
    whole = read_table(path, "y").y.tolist()
    stream = TableStream(path, "y")
    assert stream.classes.tolist() == ["false", "true"]
    assert [label for part in stream for label in part.y.tolist()] == whole
    assert whole == ["true", "false", "true", "true", "false", "true"]


words = st.sampled_from(["true", "True", "TRUE", "tRuE", "false", "False", "FALSE", "fAlSe"])


@given(st.lists(words, min_size=1, max_size=12), st.lists(words, max_size=6), st.randoms())
def test_spelling_changes_no_meaning_and_order_changes_no_spelling(labels, others, random):
    found = one_spelling(np.array(labels)).tolist()
    assert [label.lower() for label in found] == [label.lower() for label in labels]
    assert len(set(found)) == len({label.lower() for label in labels})
    shuffled = random.sample(labels, len(labels))
    assert Counter(one_spelling(np.array(shuffled)).tolist()) == Counter(found)
    later = one_spelling(np.array(others, dtype=str), np.unique(found))
    means = {label.lower(): label for label in found}
    assert later.tolist() == [means.get(label.lower(), label) for label in others]


def test_later_files_may_spell_them_in_another_way(tmp_path, capsys):
    for name, yes, no in (("train", "True", "False"), ("val", "TRUE", "false"), ("new", "t", "f")):
        spelt = {"t": "true", "f": "FALSE"}
        rows = "".join(
            f"{i},{spelt.get(yes, yes)}\n{-i},{spelt.get(no, no)}\n" for i in range(1, 40)
        )
        (tmp_path / f"{name}.csv").write_text("x,y\n" + rows)
    train, val, new, model, out = (
        str(tmp_path / name) for name in ("train.csv", "val.csv", "new.csv", "m.dgt", "out.csv")
    )
    quick = ["--max-depth", "1", "--max-epochs", "20"]
    assert run(["fit", train, "-t", "y", "--val", val, "-o", model, *quick]) == 0
    assert run(["predict", model, new, "-t", "y", "-o", out]) == 0
    assert capsys.readouterr().out.endswith("accuracy: 1\n")
    assert set((tmp_path / "out.csv").read_text().split()) == {"prediction", "True", "False"}


# svmlight keeps labels as floats, which are exact up to 2^53.


@pytest.mark.parametrize("label", [2**53, 2**53 + 1, -(2**60), 10**30, f"{2**53}.0"])
def test_svmlight_labels_that_would_merge_are_refused(label):
    text = f"1 1:1\n{label} 1:2\n{2**53 + 1} 1:3\n"
    with pytest.raises(
        DataError, match=rf"line 2, column 1: labels .* below 2\^53, .* got '{label}'"
    ):
        read_table(io.BytesIO(text.encode()), format="svmlight")


def test_svmlight_labels_up_to_there_are_kept():
    largest = 2**53 - 1
    text = f"{largest} 1:1\n{largest - 1} 1:2\n-{largest} 1:3\n{largest} 1:4\n" * 2
    table = read_table(io.BytesIO(text.encode()), task="classification")
    assert table.y.tolist() == [largest, largest - 1, -largest, largest] * 2
    values = read_table(io.BytesIO(b"1e20 1:1\n2.5e300 1:2\n"), task="regression")
    assert values.y.tolist() == [1e20, 2.5e300]
