"""Tables that training is timed on: the paper's, or made-up ones of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dgtrees.errors import DataError
from dgtrees.paper.catalog import CATALOG, load

__all__ = ["FITS", "STEPS", "TrainingTable", "training_table"]

STEPS = {
    "segment": None,
    "satimage": None,
    "ailerons": None,
    "letter": None,
    "covtype": 50_000,
    "mnist": 10_000,
    "connect4": None,
}
"""Sets whose steps are timed, and how many of their rows; None for all."""

_SMALL = 15_000
FITS = [
    name
    for name, known in CATALOG.items()
    if known.rows[0] < _SMALL and all(known.rows) and known.paper_height
]
"""Sets whose whole fits are timed: small ones for which the paper names a height."""


@dataclass(frozen=True)
class TrainingTable:
    """A set on disk: its file of arrays, shape, and why it is made up, if it is."""

    name: str
    title: str
    height: int
    classes: int
    rows: int
    features: int
    path: str
    made_up: str = ""


def training_table(name: str, folder: Path, rows: int | None = None) -> TrainingTable:
    """Write a set's first rows of training, and its validation part, to a file of the folder."""
    known, path = CATALOG[name], folder / f"{name}.npz"
    count, why = min(rows or known.rows[0], known.rows[0]), ""
    try:
        split = load(name)
        arrays = {part: getattr(split, part) for part in ("X_train", "y_train", "X_val", "y_val")}
        if known.n_classes:
            # The engine takes class numbers.
            y = {part: arrays[part] for part in ("y_train", "y_val")}
            classes = np.unique(np.concatenate(list(y.values())))
            arrays |= {part: np.searchsorted(classes, values) for part, values in y.items()}
    except (DataError, ImportError) as error:
        arrays, why = _made_up(known.n_features, known.n_classes, count, known.rows[1]), str(error)
    arrays |= {part: arrays[part][:count] for part in ("X_train", "y_train")}
    np.savez(path, **arrays)
    return TrainingTable(
        name=name,
        title=known.title + (" (made up)" if why else ""),
        height=known.paper_height or 6,
        classes=known.n_classes,
        rows=count,
        features=known.n_features,
        path=str(path),
        made_up=why,
    )


def _made_up(features: int, classes: int, rows: int, held: int) -> dict[str, np.ndarray]:
    """Normal columns, and a target that some directions decide."""
    random = np.random.default_rng(0)
    X = random.standard_normal((rows + held, features)).astype(np.float32)
    scores = np.tanh(X @ random.standard_normal((features, max(1, classes))))
    y = scores.argmax(axis=1) if classes else scores[:, 0].astype(np.float64)
    return {"X_train": X[:rows], "y_train": y[:rows], "X_val": X[rows:], "y_val": y[rows:]}
