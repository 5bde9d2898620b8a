"""The table of data sets: complete, consistent, and refused where an entry cannot be meant."""

import pytest

from dgtrees.errors import DataError
from dgtrees.paper.data_sets import CATALOG, TABLE, read_data_sets
from dgtrees.paper.parsers import PARSERS

ENTRY = """
[toy]
title = "Toy"
parser = "letter"
n_features = 2
rows = [3, 2, 1]
split = "given"
metric = "rmse"
publisher = "nobody"
page = "https://example.org"
licence = "none"
files = [{ name = "toy.csv", url = "https://example.org/toy.csv" }]
"""


def read(tmp_path, text):
    path = tmp_path / "sets.toml"
    path.write_text(text)
    return read_data_sets(path)


def test_an_entry_becomes_a_record(tmp_path):
    toy = read(tmp_path, ENTRY)["toy"]
    assert (toy.name, toy.rows, toy.paper_height, toy.shuffles) == ("toy", (3, 2, 1), None, 1)
    assert toy.task == "regression" and toy.parse is PARSERS["letter"]
    assert toy.files[0].stored_name == "toy.csv" and toy.files[0].sha256 is None


def test_a_shuffle_may_have_a_file_and_sets_a_folder_in_common():
    one, other = CATALOG["abalone_shuffles"], CATALOG["compactiv_shuffles"]
    assert one.folder == other.folder == "paper_shuffles" and CATALOG["abalone"].folder == "abalone"
    assert [file.name for file in one.files_of(3)] == ["abalone3.npz"]
    assert CATALOG["ailerons"].files_of(3) == CATALOG["ailerons"].files
    with pytest.raises(ValueError, match="must be one of the 5 published ones, 0 to 4, got -1"):
        other.files_of(-1)


def test_absent_data_sets_have_a_reason():
    absent = {name for name, data_set in CATALOG.items() if data_set.why_absent}
    assert set(CATALOG) - absent == {
        *("connect4", "mnist", "letter", "pendigits", "satimage", "segment", "covtype"),
        *("bace", "hiv", "ailerons", "abalone", "compactiv"),
        *("abalone_shuffles", "compactiv_shuffles"),
    }


def test_every_set_has_a_parser_of_its_name():
    assert [data_set.parse for data_set in CATALOG.values()] == list(PARSERS.values())
    assert list(CATALOG) == list(PARSERS) == list(read_data_sets(TABLE))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'title = "Toy"',
            'titel = "Toy"',
            "must have the keys of DataSet.*unknown titel, no title",
        ),
        ('parser = "letter"', 'parser = "toy"', "parser of data set 'toy' must be one of .*'toy'"),
        ('parser = "letter"', "", "parser of data set 'toy' must be one of .*None"),
        ('metric = "rmse"', 'metric = "mae"', "metric of data set 'toy' must be one of .*'mae'"),
        ('metric = "rmse"', 'metric = "auc"', "rmse if and only if it has no classes, got 'auc'"),
        ("[3, 2, 1]", "[3, 2]", r"must be three whole numbers, got \(3, 2\)"),
        ("[3, 2, 1]", "[3, 2, -1]", "must be three whole numbers"),
        ("{ name", '{ sha256 = "12", name', "64 hexadecimal digits, got '12'"),
        ("{ name", "{ size = 3, name", "a file of data set 'toy' must have the keys of DataFile"),
        ("{ name", '{ instead = "other", name', "instead of toy.csv of data set 'toy' must be one"),
        (', url = "https://example.org/toy.csv"', "", "must have by_hand where a file has no url"),
        ("files = [", "files = [] #", "must have files of different names"),
        (
            "files = [",
            "file_per_shuffle = true\nshuffles = 2\nfiles = [",
            "must have a file for every shuffle, got 1",
        ),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused_in_one_line(tmp_path, old, new, message):
    assert old in ENTRY
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path, ENTRY.replace(old, new))
    assert str(error.value).count("\n") == 0 and "correct" in str(error.value)
