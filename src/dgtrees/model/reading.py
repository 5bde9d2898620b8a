"""Rows as users have them, made ready for a model's trees: tables, arrays, single rows.

scikit-learn's part of checking is the estimators' own; this is what a `Model` needs without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from dgtrees.schema import shown
from dgtrees.tables.encoder import Encoder, columns_of, is_frame
from dgtrees.tree.inputs import check_row
from dgtrees.tree.routing import all_finite, all_within

__all__ = ["encode_row", "encode_table", "read_columns"]


def read_columns(
    X: Any, n_columns: int, names: Sequence[str] | None
) -> list[tuple[str, np.ndarray]]:
    """The columns of a table that a model was fitted on, in its order.

    Columns of a frame are looked up by name, in any order and beside others, where the model knows
    names; everything else goes by place.
    """
    found = columns_of(X if is_frame(X) else _as_table(X))
    if names is not None and is_frame(X):
        labels = [label for label, _ in found]
        for name in names:
            if labels.count(name) != 1:
                raise ValueError(
                    f"a frame must have the column {name!r} once, got {shown(labels)}: "
                    "rename its columns as they were in fit"
                )
        return [found[labels.index(name)] for name in names]
    if len(found) != n_columns:
        raise ValueError(
            f"X must have the {n_columns} columns of the model, got {len(found)}: give one row per "
            "example with the columns of fit"
        )
    return found


def _as_table(X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
    if X.ndim != 2:
        raise ValueError(f"X must be rows by columns, got shape {X.shape}: give [x] for one row")
    return X


def encode_table(X: Any, encoder: Encoder, names: Sequence[str] | None) -> np.ndarray:
    """Encoded rows (rows, encoded columns) of a frame or array."""
    numbers = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    fits = numbers and X.ndim == 2 and X.shape[1] == len(encoder.columns)
    if fits and encoder.numeric and not np.isinf(X).any():
        return encoder.expand_numbers(X)  # at once, where `expand` goes column by column
    return encoder.expand(read_columns(X, len(encoder.columns), names))


def encode_row(
    x: Any, encoder: Encoder, names: Sequence[str] | None, encoded: bool = True
) -> np.ndarray:
    """One row of numbers, encoded (or checked only) in about a microsecond."""
    if names is not None and type(x) is not np.ndarray and hasattr(x, "iloc"):
        _check_names(list(x.index), list(names))
    row = check_row(x, len(encoder.columns))
    reach = encoder.reach
    if encoder.plain and (all_finite(row) if reach is None else all_within(row, *reach)):
        return row
    if np.isinf(row).any():
        raise ValueError(
            f"x must be finite or NaN (missing), got {row[np.isinf(row)][0]} in column "
            f"{int(np.isinf(row).argmax())}: replace it by a number or by NaN"
        )
    return encoder.expand_row(row) if encoded else row


def _check_names(found: list[Any], known: list[Any]) -> None:
    """Refuse a row of a pandas frame, which knows its columns, if they are others."""
    if found == known:
        return
    pairs = enumerate(zip_longest(found, known, fillvalue=None))
    place, (got, wanted) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    raise ValueError(
        f"x must have the columns of fit in their order, got {got!r} in place {place} where "
        f"fit had {wanted!r}: give x[model.feature_names_in_]"
    )
