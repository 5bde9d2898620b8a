"""Data sets of the cells: the paper's, and scikit-learn's bundled ones for a smoke run."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.paper.catalog import CATALOG, Split, data_folder, load, status

_HEIGHT = 6
"""Of trees for molecules, where the paper names none."""

_KEPT = {"hiv": np.uint8}
"""Sets whose fingerprints take longer than most trees: kept once computed, in this type."""

BUNDLED = {"diabetes": "rmse", "digits": "accuracy", "breast_cancer": "auc"}
_BUNDLED_ROWS = 240


@dataclass(frozen=True)
class Facts:
    """What is known of a data set before it is read."""

    title: str
    metric: str
    height: int
    rows: tuple[int, int, int]
    shuffles: int = 1

    @property
    def task(self) -> str:
        """Which estimators it is for."""
        return "regression" if self.metric == "rmse" else "classification"

    @property
    def digits(self) -> int:
        """Digits to show of a score."""
        return {"rmse": 3, "accuracy": 2, "auc": 3}[self.metric]


def facts(name: str) -> Facts:
    """Facts of one of the paper's or the bundled data sets."""
    if name in BUNDLED:
        rows = (_BUNDLED_ROWS * 3 // 5, _BUNDLED_ROWS // 5, _BUNDLED_ROWS // 5)
        return Facts(name, BUNDLED[name], 2, rows)
    if name not in CATALOG:
        raise ValueError(f"dataset must be one of {', '.join(CATALOG)}; got {name!r}")
    known = CATALOG[name]
    height = known.paper_height or _HEIGHT
    return Facts(known.title, known.metric, height, known.rows, known.shuffles)


def is_present(name: str) -> bool:
    """Whether its files are there."""
    return name in BUNDLED or status(name, data_folder()).present


def load_parts(name: str, seed: int) -> Split:
    """The three parts; seed s also means shuffle s of sets that have no test part of their own."""
    if name in BUNDLED:
        return _load_bundled(name)
    shuffle = seed % facts(name).shuffles
    return _load_kept(name, shuffle) if name in _KEPT else load(name, shuffle, data_folder())


def _load_kept(name: str, shuffle: int) -> Split:
    """The parts from a file of the temporary folder, which is made if it is not there."""
    sources = sorted(p for p in status(name, data_folder()).folder.rglob("*") if p.is_file())
    state = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in sources]
    key = hashlib.sha256(repr((state, shuffle)).encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir(), f"dgtrees-{name}-{key}.npz")
    arrays = [f.name for f in fields(Split) if f.name[:2] in ("X_", "y_")]
    if not file.exists():
        split = load(name, shuffle, data_folder())
        found = {part: getattr(split, part) for part in arrays}
        small = {p: a.astype(_KEPT[name]) if p[0] == "X" else a for p, a in found.items()}
        assert all(np.array_equal(found[part], small[part]) for part in arrays)
        part_written = file.with_suffix(f".{os.getpid()}.npz")
        np.savez(part_written, **small)
        part_written.replace(file)
    with np.load(file) as stored:
        wide = {p: stored[p].astype(np.float32) if p[0] == "X" else stored[p] for p in arrays}
    return Split(name, **wide)


def _load_bundled(name: str) -> Split:
    from sklearn import datasets

    read: Callable[..., Any] = getattr(datasets, f"load_{name}")
    X, y = read(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))[:_BUNDLED_ROWS]
    train, val, _ = facts(name).rows
    cut = [(X[rows], y[rows]) for rows in np.split(order, [train, train + val])]
    return Split(name, *cut[0], *cut[1], *cut[2])
