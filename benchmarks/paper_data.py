"""The paper's data sets as arrays, read from the folder that DGTREES_DATA names.

Splits are those of the folder's README: a given test part where there is one, otherwise
numpy.random.RandomState(shuffle).permutation.
"""

from __future__ import annotations

import gzip
import lzma
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HEIGHTS = {
    "pendigits": 8,
    "letter": 10,
    "satimage": 6,
    "segment": 8,
    "connect4": 8,
    "mnist": 8,
    "covtype": 10,
    "ailerons": 6,
    "abalone": 6,
    "compactiv": 6,
}
REGRESSION = {"ailerons", "abalone", "compactiv"}


@dataclass(frozen=True)
class Split:
    """Raw features and targets, ready for an estimator."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def folder() -> Path:
    """Where the data sets lie: DGTREES_DATA, or ../shared/datasets beside the repository."""
    default = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    path = Path(os.environ.get("DGTREES_DATA", default))
    if not path.is_dir():
        raise FileNotFoundError(f"no data folder at {path}: set DGTREES_DATA to the one you have")
    return path


def load(name: str, shuffle: int = 0) -> Split:
    """One data set, split as published."""
    return _READERS[name](folder() / name, shuffle)


def _text(path: Path, delimiter: str | None = None, skip: int = 0) -> np.ndarray:
    with gzip.open(path, "rt") as stream:
        return np.loadtxt(stream, delimiter=delimiter, skiprows=skip)


def _svmlight(path: Path) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=16)
    return X.toarray(), y


def _parts(X: np.ndarray, y: np.ndarray, shuffle: int, train: int, val: int) -> Split:
    order = np.random.RandomState(shuffle).permutation(len(X))
    a, b, c = order[:train], order[train : train + val], order[train + val :]
    return Split(X[a], y[a], X[b], y[b], X[c], y[c])


def _with_test(
    X: np.ndarray, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray, shuffle: int, train: int
) -> Split:
    order = np.random.RandomState(shuffle).permutation(len(X))
    a, b = order[:train], order[train:]
    return Split(X[a], y[a], X[b], y[b], Xt, yt)


def _pendigits(path: Path, shuffle: int) -> Split:
    a, b = (_text(path / f"pendigits.{part}.gz", ",") for part in ("tra", "tes"))
    return _with_test(a[:, :-1], a[:, -1], b[:, :-1], b[:, -1], shuffle, 5995)


def _satimage(path: Path, shuffle: int) -> Split:
    a, b = (_text(path / f"sat.{part}.gz") for part in ("trn", "tst"))
    return _with_test(a[:, :-1], a[:, -1], b[:, :-1], b[:, -1], shuffle, 3104)


def _letter(path: Path, shuffle: int) -> Split:
    parts = [_svmlight(path / f"letter.scale.{part}.gz") for part in ("tr", "val", "t")]
    return Split(*[array for part in parts for array in part])


def _segment(path: Path, shuffle: int) -> Split:
    data = _text(path / "segment.dat.comma-header.gz", ",", skip=1)
    return _parts(data[:, :-1], data[:, -1], shuffle, 1478, 370)


def _connect4(path: Path, shuffle: int) -> Split:
    data = _text(path / "connect_4.tsv.gz", "\t", skip=1).astype(int)
    X = (data[:, :-1, None] == np.arange(3)).reshape(len(data), -1).astype(float)
    return _parts(X, data[:, -1], shuffle, 43236, 10809)


def _mnist(path: Path, shuffle: int) -> Split:
    def read(name: str) -> np.ndarray:
        with gzip.open(path / f"{name}.gz") as stream:
            raw = np.frombuffer(stream.read(), np.uint8)
        axes = raw[3]
        shape = raw[4 : 4 + 4 * axes].view(">i4")
        return raw[4 + 4 * axes :].reshape(shape[0], -1).astype(np.float32)

    X, Xt = read("train-images-idx3-ubyte"), read("t10k-images-idx3-ubyte")
    y, yt = read("train-labels-idx1-ubyte").ravel(), read("t10k-labels-idx1-ubyte").ravel()
    return _with_test(X, y, Xt, yt, shuffle, 48000)


def _covtype(path: Path, shuffle: int) -> Split:
    with lzma.open(path / "covtype.data.xz", "rt") as stream:
        data = np.loadtxt(stream, delimiter=",", dtype=np.float32)
    return _parts(data[:, :-1], data[:, -1], shuffle, 371846, 92963)


def _ailerons(path: Path, shuffle: int) -> Split:
    a, b = (_text(path / f"ailerons.{part}.gz", ",") for part in ("data", "test"))
    return _with_test(a[:, :-1], 1e4 * a[:, -1], b[:, :-1], 1e4 * b[:, -1], shuffle, 5723)


def _abalone(path: Path, shuffle: int) -> Split:
    with gzip.open(path / "abalone.data.gz", "rt") as stream:
        fields = [line.strip().split(",") for line in stream if line.strip()]
    sex = np.array([[row[0] == s for s in "MFI"] for row in fields], dtype=float)
    numbers = np.array([row[1:] for row in fields], dtype=float)
    X = np.hstack([sex, numbers[:, :-1]])
    return _parts(X, numbers[:, -1], shuffle, 2004, 502)


def _compactiv(path: Path, shuffle: int) -> Split:
    with gzip.open(path / "cpu_act.arff.gz", "rt") as stream:
        body = stream.read()
    rows = body[body.lower().index("@data") + 5 :].strip().splitlines()
    data = np.array([row.split(",") for row in rows if row.strip()], dtype=float)
    return _parts(data[:, :-1], data[:, -1], shuffle, 3932, 983)


_READERS = {
    "pendigits": _pendigits,
    "satimage": _satimage,
    "letter": _letter,
    "segment": _segment,
    "connect4": _connect4,
    "mnist": _mnist,
    "covtype": _covtype,
    "ailerons": _ailerons,
    "abalone": _abalone,
    "compactiv": _compactiv,
}
