"""The data sets of the paper as records: `data_sets.toml`, read and checked.

Twenty, of which two are there twice: as published, and as the authors shuffled them.

Facts only. `archives` opens the files, `parsers` parses them, `catalog` puts it together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from dgtrees.errors import DataError
from dgtrees.paper.archives import DataFile, FileSource
from dgtrees.paper.parsers import PARSERS, Parts

__all__ = ["CATALOG", "DataSet", "read_data_sets"]

TABLE = Path(__file__).with_suffix(".toml")
METRICS = ("accuracy", "auc", "rmse")


@dataclass(frozen=True)
class DataSet:
    """One data set of the paper.

    Attributes
    ----------
    name, title : str
        The key here; the paper's name.
    n_features : int
        Columns after encoding.
    rows : tuple of three int
        Rows of the training, validation and test part; 0 where nobody has stated the count.
    split : str
        How the parts are made, in a sentence.
    n_classes : int
        0 for regression.
    shuffles : int
        How many splits the paper averages over: `load(name, shuffle)` takes 0 to shuffles - 1.
    metric : str
        "accuracy", "auc" or "rmse".
    paper_height : int or None
        The height the paper reports, None where it names none.
    publisher, page, licence : str
        Who publishes it, the page that describes it, and the terms as far as they are known.
    files : tuple of DataFile
        What is published.
    parse : callable
        From the files to their parts, one of `parsers.PARSERS`.
    in_folder : str
        The folder of its files, where that is not named like the set.
    file_per_shuffle : bool
        Whether every shuffle is published as a file of its own, in their order; what does not come
        in parts is cut by a permutation otherwise.
    by_hand : str
        For sets that no program may download: how to come by the files.
    note : str
        What a reader of its scores should know.
    why_absent : str
        Why there is no copy to run on, where there is none.
    """

    name: str
    title: str
    n_features: int
    rows: tuple[int, int, int]
    split: str
    metric: str
    publisher: str
    page: str
    licence: str
    files: tuple[DataFile, ...]
    parse: Callable[[FileSource], Parts]
    in_folder: str = ""
    file_per_shuffle: bool = False
    n_classes: int = 0
    shuffles: int = 1
    paper_height: int | None = None
    by_hand: str = ""
    note: str = ""
    why_absent: str = ""

    @property
    def task(self) -> str:
        """ "classification" or "regression"."""
        return "classification" if self.n_classes else "regression"

    @property
    def folder(self) -> str:
        """The name of the folder of its files."""
        return self.in_folder or self.name

    def files_of(self, shuffle: int) -> tuple[DataFile, ...]:
        """The files that one shuffle is read from."""
        if not self.file_per_shuffle:
            return self.files
        if shuffle not in range(len(self.files)):
            raise ValueError(
                f"shuffle of {self.name!r} must be one of the {len(self.files)} published ones, 0 "
                f"to {len(self.files) - 1}, got {shuffle}"
            )
        return (self.files[shuffle],)


def read_data_sets(path: Path = TABLE) -> dict[str, DataSet]:
    """Read a table of data sets, by name in the order of the file.

    Raises
    ------
    DataError
        If an entry lacks a key, has an unknown one, or has a value that cannot be meant.
    """
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _read_entry(name, entry) for name, entry in given.items()}


def _read_entry(name: str, entry: dict[str, Any]) -> DataSet:
    here = f"data set {name!r}"
    own = {key: value for key, value in entry.items() if key not in ("files", "parser")}
    own["name"] = name
    own["parse"] = _look_up(PARSERS, entry.get("parser"), f"parser of {here}")
    own["files"] = tuple(_read_file(file, here) for file in entry.get("files", ()))
    _check_keys(DataSet, own, here)
    data_set = DataSet(**own | {"rows": tuple(own["rows"])})
    _check_entry(data_set, here)
    return data_set


def _read_file(entry: dict[str, Any], here: str) -> DataFile:
    _check_keys(DataFile, entry, f"a file of {here}")
    file = DataFile(**entry)
    if file.sha256 is not None and not re.fullmatch("[0-9a-f]{64}", file.sha256):
        _refuse(f"sha256 of {file.name} of {here} must be 64 hexadecimal digits", file.sha256)
    return file


def _check_keys(record: type, given: dict[str, Any], here: str) -> None:
    known = {f.name: f.default is MISSING for f in fields(record)}
    wrong = [f"unknown {key}" for key in given if key not in known]
    wrong += [f"no {key}" for key, required in known.items() if required and key not in given]
    if wrong:
        _refuse(f"{here} must have the keys of {record.__name__}", ", ".join(wrong))


def _check_entry(data_set: DataSet, here: str) -> None:
    _look_up(dict.fromkeys(METRICS), data_set.metric, f"metric of {here}")
    rows = data_set.rows
    if len(rows) != 3 or not all(isinstance(count, int) and count >= 0 for count in rows):
        _refuse(f"rows of {here} must be three whole numbers", rows)
    if (data_set.metric == "rmse") != (data_set.task == "regression"):
        _refuse(f"metric of {here} must be rmse if and only if it has no classes", data_set.metric)
    names = [file.name for file in data_set.files]
    if not names or len(set(names)) < len(names):
        _refuse(f"{here} must have files of different names", names)
    if data_set.file_per_shuffle and len(names) != data_set.shuffles:
        _refuse(f"{here} must have a file for every shuffle", len(names))
    for file in data_set.files:
        if file.instead is not None:
            _look_up(dict.fromkeys(names), file.instead, f"instead of {file.name} of {here}")
    if not data_set.by_hand and any(not (file.url or file.optional) for file in data_set.files):
        _refuse(f"{here} must have by_hand where a file has no url", "neither")


def _look_up(known: dict[str, Any], key: Any, what: str) -> Any:
    if key not in known:
        _refuse(f"{what} must be one of {', '.join(known)}", key)
    return known[key]


def _refuse(rule: str, value: Any) -> NoReturn:
    raise DataError(f"{rule}, got {value!r}: correct {TABLE.name}")


CATALOG: dict[str, DataSet] = read_data_sets()
"""Every data set of the paper by name, in the order of its two tables; then authors' shuffles."""
