"""Parsers of the publishers' formats: one small function for every data set of the paper.

A parser takes the files of its set and gives `Parts`: one (X, y) pair if the set comes in one
piece, two if a test part is given, three if a validation part is given as well. Where a part
still has to be cut, `catalog` does it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgtrees.errors import DataError
from dgtrees.paper import molecules
from dgtrees.paper.archives import FileSource
from dgtrees.paper.number_files import (
    name_columns,
    read_csv,
    read_header,
    read_idx,
    read_numbers,
    read_spaced,
)
from dgtrees.tables.arff import read_arff
from dgtrees.tables.binary import load_npz
from dgtrees.tables.svmlight import read_svmlight

__all__ = ["PARSERS", "Pair", "Parts"]

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Parts:
    """Features (rows, d) and targets (rows,) of one, two or three given parts."""

    pairs: tuple[Pair, ...]
    feature_names: tuple[str, ...] | None = None


# --- tables of numbers -------------------------------------------------------------------------


def _last_is_label(data: np.ndarray) -> Pair:
    return data[:, :-1], data[:, -1].astype(np.int64)


def _last_is_value(data: np.ndarray) -> Pair:
    return data[:, :-1], data[:, -1]


def pendigits(source: FileSource) -> Parts:
    """UCI pen digits: commas and blanks, label last."""
    names = ("pendigits.tra", "pendigits.tes")
    return Parts(tuple(_last_is_label(read_csv(source, name, 17)) for name in names))


def satimage(source: FileSource) -> Parts:
    """Statlog Landsat: blanks, labels 1 to 5 and 7 last."""
    names = ("sat.trn", "sat.tst")
    return Parts(tuple(_last_is_label(read_spaced(source, name, 37)) for name in names))


def segment(source: FileSource) -> Parts:
    """Statlog image segmentation: blanks, label last; or the same rows with commas and a header."""
    copy = "segment.dat.comma-header"
    if source.has(copy):
        with source.open(copy) as stream:
            read_header(stream)
            data = read_numbers(stream, source.where(copy), name_columns(20))
    else:
        data = read_spaced(source, "segment.dat", 20)
    return Parts((_last_is_label(data),))


def connect4(source: FileSource) -> Parts:
    """PMLB's Connect-4: tabs, a header, cells 0 blank, 1 o, 2 x; every cell becomes three bits."""
    name = "connect_4.tsv"
    with source.open(name) as stream:
        columns = read_header(stream, "\t")
        data = read_numbers(stream, source.where(name), columns, np.float32, "\t")
    boards, y = _last_is_label(data)
    X = (boards[:, :, None] == np.arange(3, dtype=np.float32)).reshape(len(boards), -1)
    names = tuple(f"{cell}={mark}" for cell in columns[:-1] for mark in "box")
    return Parts(((X.astype(np.float64), y),), names)


def covtype(source: FileSource) -> Parts:
    """UCI forest cover: commas, label last."""
    return Parts((_last_is_label(read_csv(source, "covtype.data", 55, np.float32)),))


def ailerons(source: FileSource) -> Parts:
    """Torgo's ailerons: commas, goal last; it is given in units of 1e-4, as the paper does."""
    pairs = []
    for name in ("ailerons.data", "ailerons.test"):
        X, y = _last_is_value(read_csv(source, name, 41))
        pairs.append((X, 1e4 * y))
    return Parts(tuple(pairs))


def abalone(source: FileSource) -> Parts:
    """UCI abalone: a letter for the sex, which becomes three bits, seven measures, rings."""
    with source.open("abalone.data") as stream:
        rows = [line.split(b",", 1) for line in stream if line.strip()]
    sex = np.array([[row[0] == letter for letter in (b"M", b"F", b"I")] for row in rows])
    text = io.BytesIO(b"".join(row[-1] for row in rows))
    data = read_numbers(text, source.where("abalone.data"), name_columns(8))
    measures = ("length", "diameter", "height", "whole", "shucked", "viscera", "shell")
    X = np.hstack([sex.astype(np.float64), data[:, :-1]])
    return Parts(((X, data[:, -1]),), ("sex=M", "sex=F", "sex=I", *measures))


def compactiv(source: FileSource) -> Parts:
    """Computer activity as ARFF; the target, the share of user mode, is the last attribute."""
    with source.open("cpu_act.arff") as stream:
        names, columns = read_arff(stream, source.where("cpu_act.arff"))
    X = np.column_stack(columns[:-1]).astype(np.float64)
    return Parts(((X, columns[-1].astype(np.float64)),), tuple(names[:-1]))


def authors_shuffle(source: FileSource) -> Parts:
    """One shuffle as the paper's authors publish it: features and targets of two parts."""
    (name,) = source.names
    with source.open(name) as stream:
        saved = load_npz(stream, source.where(name))
    wanted = ("X_train", "y_train", "X_test", "y_test")
    if any(key not in saved or saved[key].dtype.kind != "f" for key in wanted):
        raise DataError(
            f"{source.where(name)} must hold arrays of numbers {', '.join(wanted)}, got "
            f"{', '.join(sorted(saved)) or 'none'}: delete it and fetch it again"
        )
    X_train, y_train, X_test, y_test = (saved[key] for key in wanted)
    return Parts(((X_train, y_train.ravel()), (X_test, y_test.ravel())))


def ctslice(source: FileSource) -> Parts:
    """UCI CT slices: a header, the patient, 384 bins of two histograms, the place on the axis."""
    name = "slice_localization_data.csv"
    with source.open(name) as stream:
        columns = read_header(stream)
        data = read_numbers(stream, source.where(name), columns)
    return Parts(((data[:, 1:-1], data[:, -1]),), tuple(columns[1:-1]))


def yearpred(source: FileSource) -> Parts:
    """UCI songs: the year, 90 numbers on the timbre; the last 51,630 rows are the test part."""
    data = read_csv(source, "YearPredictionMSD.txt", 91, np.float32)
    X, y = data[:, 1:], data[:, 0].astype(np.float64)
    cut = YEARPRED_TRAIN_ROWS
    return Parts(((X[:cut], y[:cut]), (X[cut:], y[cut:])))


YEARPRED_TRAIN_ROWS = 463_715
"""Where the publisher cuts: no artist is on both sides of it."""


def census1990(source: FileSource) -> Parts:
    """UCI census: a header, 69 columns of codes; `iYearsch` is the class, the others features."""
    name = "USCensus1990.data.txt"
    with source.open(name) as stream:
        columns = read_header(stream)
        if "iYearsch" not in columns:
            raise DataError(
                f"{source.where(name)} must have a column iYearsch, got {', '.join(columns[:3])} "
                "...: delete it and fetch it again"
            )
        data = read_numbers(stream, source.where(name), columns, np.float32)
    target = columns.index("iYearsch")
    X = np.delete(data, target, axis=1)
    names = tuple(name for name in columns if name != "iYearsch")
    return Parts(((X, data[:, target].astype(np.int64)),), names)


# --- svmlight ----------------------------------------------------------------------------------


def _svmlight(source: FileSource, name: str, n_features: int) -> Pair:
    with source.open(name) as stream:
        X, y, _ = read_svmlight(stream, source.where(name), n_features)
    return X, y


def _classes(pair: Pair) -> Pair:
    return pair[0], pair[1].astype(np.int64)


def letter(source: FileSource) -> Parts:
    """LIBSVM's letters, scaled to [-1, 1], labels 1 to 26."""
    names = ("letter.scale.tr", "letter.scale.val", "letter.scale.t")
    return Parts(tuple(_classes(_svmlight(source, name, 16)) for name in names))


def sensit(source: FileSource) -> Parts:
    """LIBSVM's SensIT vehicles, acoustic and seismic sensors combined, labels 1 to 3."""
    names = ("combined", "combined.t")
    return Parts(tuple(_classes(_svmlight(source, name, 100)) for name in names))


def protein(source: FileSource) -> Parts:
    """LIBSVM's proteins, labels 0 to 2; the publisher leaves blanks after the colons."""
    pairs = []
    for name in ("protein.tr", "protein.val", "protein.t"):
        with source.open(name) as stream:
            text = io.BytesIO(re.sub(rb": +", b":", stream.read()))
        X, y, _ = read_svmlight(text, source.where(name), 357)
        pairs.append(_classes((X, y)))
    return Parts(tuple(pairs))


def _relevance(source: FileSource, name: str, n_features: int) -> Pair:
    X, y = _svmlight(source, name, n_features)
    return X.astype(np.float32), y


def mslr(source: FileSource) -> Parts:
    """MSLR-WEB10K, fold 1: relevance 0 to 4, query, 136 features; vali.txt is not used."""
    names = ("Fold1/train.txt", "Fold1/test.txt")
    return Parts(tuple(_relevance(source, name, 136) for name in names))


def yahoo(source: FileSource) -> Parts:
    """Yahoo's learning to rank challenge, set 1: relevance 0 to 4, query, 699 features."""
    names = ("set1.train.txt", "set1.valid.txt", "set1.test.txt")
    return Parts(tuple(_relevance(source, name, 699) for name in names))


# --- others ------------------------------------------------------------------------------------


def mnist(source: FileSource) -> Parts:
    """MNIST's idx files, up to pixel 780 as in LIBSVM's copy: the rest is always blank."""
    pairs = []
    for part in ("train", "t10k"):
        images = read_idx(source, f"{part}-images-idx3-ubyte", 3)
        labels = read_idx(source, f"{part}-labels-idx1-ubyte", 1)
        X = images.reshape(len(images), -1)[:, :780].astype(np.float32)
        pairs.append((X, labels.astype(np.int64)))
    return Parts(tuple(pairs))


def bace(source: FileSource) -> Parts:
    """LCN's BACE files: 2,048 bits written as one word, a comma, the class."""
    pairs = []
    for part in ("train", "valid", "test"):
        name = f"{part}.fgp2048.csv"
        with source.open(name) as stream:
            stream.readline()
            rows = [line.strip().split(b",") for line in stream if line.strip()]
        if {len(row[0]) for row in rows} != {2048} or {row[-1] for row in rows} - {b"0", b"1"}:
            raise DataError(
                f"{source.where(name)} must hold rows of 2,048 bits, a comma and 0 or 1, but "
                "other rows are in it: delete it and fetch it again"
            )
        words = np.frombuffer(b"".join(row[0] for row in rows), dtype=np.uint8)
        X = (words.reshape(len(rows), 2048) == ord("1")).astype(np.float32)
        pairs.append((X, np.array([int(row[1]) for row in rows], dtype=np.int64)))
    return Parts(tuple(pairs))


def hiv(source: FileSource) -> Parts:
    """MoleculeNet's HIV: SMILES, activity, class. Bits and scaffolds are RDKit's."""
    with source.open("HIV.csv") as stream:
        stream.readline()
        rows = [line.decode().strip().split(",") for line in stream if line.strip()]
    smiles = [row[0] for row in rows]
    X = molecules.morgan_bits(smiles)
    y = np.array([int(row[-1]) for row in rows], dtype=np.int64)
    if source.has(HIV_SPLIT):
        with source.open(HIV_SPLIT) as stream:
            saved = load_npz(stream, source.where(HIV_SPLIT))
            order = [saved[part] for part in ("train", "valid", "test")]
    else:
        train, train_and_val = len(rows) * 8 // 10, len(rows) * 9 // 10
        order = list(molecules.scaffold_split(smiles, train, train_and_val - train))
    return Parts(tuple((X[part], y[part]) for part in order))


HIV_SPLIT = "scaffold_split_idx.derived.npz"
"""Row numbers of the scaffold split, which take RDKit half a minute to find again."""


def pdbbind(source: FileSource) -> Parts:
    """LCN's PDBbind: six arrays, which its publisher gives as a pickle."""
    name = "PDBbind.npz"
    with source.open(name) as stream:
        saved = load_npz(stream, source.where(name))
    arrays = [saved[key] for key in (f"arr_{i}" for i in range(6)) if key in saved]
    if len(arrays) != 6 or any(a.dtype.kind not in "fiub" for a in arrays):
        raise DataError(
            f"{source.where(name)} must hold six arrays of numbers, arr_0 to arr_5, got "
            f"{', '.join(f'{k} {v.dtype}' for k, v in list(saved.items())[:8]) or 'none'}: make "
            "it again from PDBbind.pkl.gz"
        )
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    return Parts(tuple((X.astype(np.float32), y.ravel().astype(np.float64)) for X, y in pairs))


PARSERS: dict[str, Callable[[FileSource], Parts]] = {
    "connect4": connect4,
    "mnist": mnist,
    "protein": protein,
    "sensit": sensit,
    "letter": letter,
    "pendigits": pendigits,
    "satimage": satimage,
    "segment": segment,
    "covtype": covtype,
    "census1990": census1990,
    "bace": bace,
    "hiv": hiv,
    "ailerons": ailerons,
    "abalone": abalone,
    "compactiv": compactiv,
    "ctslice": ctslice,
    "pdbbind": pdbbind,
    "yearpred": yearpred,
    "mslr": mslr,
    "yahoo": yahoo,
    "abalone_shuffles": authors_shuffle,
    "compactiv_shuffles": authors_shuffle,
}
"""Every parser by the name that data_sets.toml has for it."""
