"""The paper's data sets as arrays: look for the files, fetch them, load them split.

    >>> from dgtrees.paper import catalog
    >>> len(catalog.names())
    22
    >>> catalog.CATALOG["letter"].rows
    (10500, 4500, 5000)

What the sets are is in `data_sets.toml`, how their files are read in `parsers`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dgtrees.errors import DataError
from dgtrees.paper.archives import DataFile, FileSource, find_file, verify_file
from dgtrees.paper.data_sets import CATALOG, DataSet
from dgtrees.paper.download import Progress, download
from dgtrees.paper.parsers import Pair, Parts

__all__ = [
    "CATALOG",
    "DataSet",
    "Split",
    "Status",
    "data_folder",
    "fetch",
    "load",
    "names",
    "status",
]


@dataclass(frozen=True)
class Split:
    """A data set in three parts: features (rows, d) as published, targets (rows,)."""

    name: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    feature_names: tuple[str, ...] | None = None

    @property
    def rows(self) -> tuple[int, int, int]:
        """Rows of the three parts."""
        return len(self.y_train), len(self.y_val), len(self.y_test)


@dataclass(frozen=True)
class Status:
    """Whether a data set is there: the files it lacks, and the bytes of those it has on disk."""

    name: str
    folder: Path
    missing: tuple[str, ...]
    bytes: int

    @property
    def present(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def names() -> list[str]:
    """The names of all data sets, in the order of the paper's tables."""
    return list(CATALOG)


def data_folder() -> Path:
    """Where data sets lie: DGTREES_DATA, else `dgtrees` in the user's cache directory."""
    chosen = os.environ.get("DGTREES_DATA")
    if chosen:
        return Path(chosen).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "dgtrees"


def status(name: str, folder: str | os.PathLike[str] | None = None) -> Status:
    """Which files of a data set are there; nothing is opened."""
    data_set, place = _locate(name, folder)
    found = {find_file(file, place) for file in data_set.files} - {None}
    return Status(
        name,
        place,
        tuple(file.name for file in _find_missing(data_set, place)),
        sum(path.stat().st_size for path in found if path),
    )


def fetch(
    name: str, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path:
    """Download what is missing of a data set, verify all of its files, return their folder.

    Parameters
    ----------
    name : str
        One of `names()`.
    folder : path, optional
        The folder of all data sets, `data_folder()` by default.
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes of the file under way; total may be None.

    Raises
    ------
    DataError
        If a file cannot be had or has the wrong content; the message says what to do by hand.
    """
    data_set, place = _locate(name, folder)
    for file in _find_missing(data_set, place):
        if find_file(file, place):
            continue  # it came in the same archive as the one before
        if file.url is None:
            raise DataError(_explain_by_hand(data_set, place))
        target = place / file.stored_name
        same = [other for other in data_set.files if other.url == file.url]
        download(file.url, target, same, progress)
    for file in data_set.files:
        path = find_file(file, place)
        if path:
            verify_file(file, path)
    return place


def load(
    name: str,
    shuffle: int = 0,
    folder: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Split:
    """Read a data set and split it as published.

    Parameters
    ----------
    name : str
        One of `names()`.
    shuffle : int
        Seed of the permutation that cuts what does not come in parts, and the number of the file
        where the authors' own shuffles are published; the paper averages over the shuffles 0 to 4
        of some sets and uses 0 of the others.
    folder : path, optional
        The folder of all data sets, `data_folder()` by default.
    download : bool
        Whether to fetch missing files.

    Returns
    -------
    Split
        Values as published: standardising them is the estimator's part.
    """
    data_set, place = _locate(name, folder)
    missing = _find_missing(data_set, place)
    if missing and download:
        fetch(name, folder)
    elif missing:
        lacks = ", ".join(file.name for file in missing)
        raise DataError(
            f"data set {name!r} must lie in {place}, where {lacks} is missing: "
            f"run `dgt data fetch {name}`, or set DGTREES_DATA to the folder that has it"
        )
    parts = data_set.parse(FileSource(data_set.files_of(shuffle), place))
    _check(data_set, parts, place)
    return _split(data_set, parts, shuffle)


def check_name(name: str) -> None:
    """Refuse the name of a data set that is not in the catalogue."""
    if name not in CATALOG:
        raise ValueError(f"name must be one of {', '.join(CATALOG)}; got {name!r}")


def _locate(name: str, folder: str | os.PathLike[str] | None) -> tuple[DataSet, Path]:
    check_name(name)
    base = Path(data_folder() if folder is None else folder)
    return CATALOG[name], base / CATALOG[name].folder


def _find_missing(data_set: DataSet, place: Path) -> list[DataFile]:
    files = {file.name: file for file in data_set.files}

    def there(file: DataFile) -> bool:
        found = find_file(file, place) is not None
        return found or (file.instead is not None and there(files[file.instead]))

    return [file for file in data_set.files if not file.optional and not there(file)]


def _explain_by_hand(data_set: DataSet, place: Path) -> str:
    wanted = ", ".join(file.name for file in data_set.files)
    archive = data_set.files[0].archive
    how = data_set.by_hand.format(page=data_set.page)
    return (
        f"{data_set.title} is not for a program to download: {how}, then put "
        f"{archive or wanted} into {place}" + (f" (or what is in it: {wanted})" if archive else "")
    )


def _check(data_set: DataSet, parts: Parts, place: Path) -> None:
    """Refuse files that parse but are not the data set: cut short, or another one."""
    expected = _part_rows(data_set, len(parts.pairs))
    for (X, y), rows in zip(parts.pairs, expected, strict=True):
        if X.shape != (rows or len(X), data_set.n_features) or len(y) != len(X):
            raise DataError(
                f"the files of {data_set.name!r} in {place} must hold {rows} rows of "
                f"{data_set.n_features} features, got {X.shape[0]} rows of {X.shape[1]}: delete "
                "them and fetch them again"
            )
    if data_set.n_classes:
        classes = len(np.unique(np.concatenate([y for _, y in parts.pairs])))
        if classes != data_set.n_classes:
            raise DataError(
                f"the files of {data_set.name!r} in {place} must hold {data_set.n_classes} "
                f"classes, got {classes}: delete them and fetch them again"
            )


def _part_rows(data_set: DataSet, count: int) -> tuple[int, ...]:
    """Rows of each given part, 0 if unknown, when there are `count` of them."""
    train, val, test = data_set.rows
    return {1: (train + val + test,), 2: (train + val, test), 3: (train, val, test)}[count]


def _split(data_set: DataSet, parts: Parts, shuffle: int) -> Split:
    """Cut the first of one or two given parts by a permutation; three given parts stay."""
    pairs: tuple[Pair, ...] = parts.pairs
    if len(pairs) < 3:
        X, y = pairs[0]
        train, val, _ = data_set.rows
        order = np.random.RandomState(shuffle).permutation(len(X))
        cuts = np.split(order, [train, train + val][: 3 - len(pairs)])
        pairs = (*((X[rows], y[rows]) for rows in cuts), *pairs[1:])
    return Split(data_set.name, *pairs[0], *pairs[1], *pairs[2], parts.feature_names)
