"""Folds: rows to train on and rows to judge by, from a table whose rows may stand for several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgtrees.learn.plans import Table
from dgtrees.tables.examples import hash_rows

__all__ = ["held_out_parts"]

_FOLDS = ((1_000, 5), (2_500, 3), (5_000, 2))
"""Below so many rows, so many of five folds are judged by; from there on one is enough."""

_RARE = 10
"""A row of a rare class tells as much about plans as so many rows of a usual table."""

_FEW_ROWS = 100
"""Below so many different rows, folds share the repetitions of each."""

_MOST_COPIES = 1_000_000


def held_out_parts(table: Table, repeats: np.ndarray, seed: int) -> list[tuple[Table, Table]]:
    """Rows to train on and to judge by: some of five folds, over which classes are spread."""
    random = np.random.default_rng([seed, 7])
    copies = _copies(table, repeats)
    row = np.repeat(np.arange(len(table)), copies)
    order = row[random.permutation(len(row))]
    if table.classification:
        order = order[np.argsort(table.labels[order], kind="stable")]
    count = next((folds for rows, folds in _FOLDS if _telling_rows(table) < rows), 1)
    parts = []
    for start in range(count):
        held = np.bincount(order[start::5], minlength=len(table))
        if 0 < held.sum() < len(row):
            parts.append((_part(table, 1.0 - held / copies), _part(table, held / copies)))
    return parts or [(table, table)]  # a single row


def _telling_rows(table: Table) -> int:
    """Rows that tell plans apart: where nearly all are of one class, the others count."""
    if not table.classification:
        return len(table)
    others = len(table) - int(np.bincount(table.labels).max())
    return min(len(table), _RARE * others)


def _copies(table: Table, repeats: np.ndarray) -> np.ndarray:
    """Parts of every row that folds may have: all its repetitions, or one.

    Rows are distinct, so that one that is held out is gone with all its repetitions. Where the
    same inputs come with several targets, as columns of few values make them, nothing would be
    left to learn their shares from: those repetitions are spread, and so are all of a table of
    next to no different rows. Others stay whole, or they would be judged by themselves.
    """
    _, group, size = np.unique(hash_rows(table.X), return_inverse=True, return_counts=True)
    spread = (size[group] > 1) | (len(table) < _FEW_ROWS)
    most = max(1.0, repeats.sum() / _MOST_COPIES)
    return np.where(spread, np.maximum(np.rint(repeats / most), 1.0), 1.0).astype(np.int64)


def _part(table: Table, share: np.ndarray) -> Table:
    """The rows of which there is a share, with so much of their weight."""
    part = table.take(share > 0)
    return replace(part, weight=part.weight * share[share > 0])
