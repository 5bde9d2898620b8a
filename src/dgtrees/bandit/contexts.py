"""The border: rows as a caller has them become float64 arrays here, once, or are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.tables.encoder import Encoder, columns_of, is_frame
from dgtrees.tree.running_scale import LARGEST, usable

__all__ = ["FixedColumns", "check_encoder", "read_row", "read_rows"]


def check_encoder(encoder: Any) -> None:
    """Refuse what is no fitted encoder, and not None."""
    if not (encoder is None or isinstance(encoder, Encoder)):
        raise TypeError(f"encoder must be a fitted dgtrees Encoder, got {shown(encoder)}")
    if encoder is not None and not encoder.width:
        raise ValueError(
            f"encoder must be fitted, got one without columns, {shown(encoder)}: call its fit"
        )


def read_row(x: Any, encoder: Encoder | None) -> np.ndarray:
    """One row as a float64 vector, or an error."""
    if encoder is not None:
        rows = _encode(x, encoder)
        if len(rows) != 1:
            raise ValueError(f"x must be one row, got {len(rows)}: pass X[i]")
        return rows[0]
    try:
        row = np.asarray(x, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"x must be a row of numbers, got {shown(x)}: encode it first") from None
    if row.ndim != 1 or row.shape[0] == 0:
        raise ValueError(f"x must be one row, a vector, got shape {row.shape}: pass X[i]")
    if not usable(row):
        _refuse(row[None])
    return row


def read_rows(X: Any, encoder: Encoder | None) -> np.ndarray:
    """Rows as a float32 or float64 array, or an error."""
    if encoder is not None:
        return _encode(X, encoder)
    try:
        rows = np.asarray(X)
        X = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"X must be rows of numbers, got {shown(X)}: encode them") from None
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must be rows by features, got shape {X.shape}: reshape it")
    if not (np.abs(X) <= LARGEST).all():
        _refuse(X)
    return np.ascontiguousarray(X)


def _encode(X: Any, encoder: Encoder) -> np.ndarray:
    names = [column.name for column in encoder.columns]
    if isinstance(X, Mapping):
        X = np.array([[X.get(name) for name in names]], dtype=object)
    if hasattr(X, "iloc") and np.ndim(X) == 1 and set(names) & {str(i) for i in X.index}:
        X = X.to_frame().T  # a row of a pandas frame, which knows its columns
    X = _choose_columns(X, names) if is_frame(X) else _as_table(X, encoder, len(names))
    rows = np.ascontiguousarray(encoder.expand(columns_of(X)))
    if not (np.abs(rows) <= LARGEST).all():
        _refuse(rows)
    return rows


def _as_table(X: Any, encoder: Encoder, width: int) -> np.ndarray:
    """One row or many as rows by columns."""
    try:
        rows = np.asarray(X, dtype=object if not encoder.numeric else None)
    except ValueError:
        rows = np.empty(0)
    if rows.ndim == 1 and any(isinstance(cell, (list, tuple, np.ndarray)) for cell in rows):
        rows = np.empty(0)  # rows of several lengths
    table = rows[None] if rows.ndim == 1 else rows
    if table.ndim != 2 or table.shape[1] != width:
        found = table.shape[1] if table.ndim == 2 else f"shape {table.shape}"
        raise ValueError(
            f"a row must have the encoder's {width} columns, got {found}: pass a "
            "vector, rows by columns, or a frame"
        )
    return table


def _choose_columns(frame: Any, names: list[str]) -> Any:
    """The columns of a frame that an encoder was fitted on, in its order."""
    arrow = hasattr(frame, "column_names")
    found = list(frame.column_names if arrow else frame.columns)
    labels = [str(label) for label in found]
    for name in names:
        if labels.count(name) != 1:
            raise ValueError(
                f"a frame must have the encoder's column {name!r} once, got {shown(labels)}: "
                "rename its columns as they were in fit"
            )
    chosen = [found[labels.index(name)] for name in names]
    return frame.select(chosen) if arrow else frame[chosen]


def _refuse(X: np.ndarray) -> None:
    row, j = np.argwhere(~(np.abs(X) <= LARGEST))[0]
    raise ValueError(
        f"features must be numbers of at most {LARGEST:g}, got {X[row, j]} for feature "
        f"{j} of row {row}: fill gaps and rescale, or give an Encoder"
    )


class FixedColumns:
    """Rows of one width, which the first row or a fitted encoder settles.

    The twin of `LiveColumns` for learners and callers that want columns to stay as they are.
    """

    named = False

    def __init__(self, encoder: Encoder | None = None) -> None:
        check_encoder(encoder)
        self.encoder = encoder
        self.width: int | None = None if encoder is None else encoder.width

    @property
    def row_width(self) -> int:
        """Length of an encoded row; rows must have been seen."""
        assert self.width is not None
        return self.width

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        if self.encoder is not None:
            return self.encoder.feature_names
        return [f"x{j}" for j in range(self.row_width)]

    @property
    def typical(self) -> np.ndarray | None:
        """A typical row, where the encoder knows one."""
        parts = [] if self.encoder is None else [c.typical for c in self.encoder.columns]
        return np.concatenate(parts) if parts else None

    def read(self, context: Any) -> np.ndarray:
        """One row as a float64 vector, or an error."""
        return self._check(read_row(context, self.encoder), 0)

    def table(self, X: Any) -> np.ndarray:
        """Rows as a float32 or float64 array, or an error."""
        return self._check(read_rows(X, self.encoder), 1)

    def _check(self, rows: np.ndarray, axis: int) -> np.ndarray:
        if self.width not in (None, rows.shape[axis]):
            raise ValueError(
                f"a row must have {self.width} features as the first one had, "
                f"got {rows.shape[axis]}: start a new policy for other features"
            )
        return rows

    def check_width(self, width: int) -> None:
        """Refuse rows of another width."""
        self._check(np.empty(width), 0)

    def settle(self, parsed: np.ndarray) -> None:
        """Let the first row say how long rows are."""
        self._check(parsed, 0)
        self.width = len(parsed)

    def encode(self, parsed: np.ndarray) -> np.ndarray:
        """The row as it is."""
        return self._check(parsed, 0)

    def grow(self, parsed: np.ndarray) -> np.ndarray:
        """The row as it is: there is nothing to grow."""
        self.settle(parsed)
        return parsed
