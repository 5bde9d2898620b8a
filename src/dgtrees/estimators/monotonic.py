"""`monotonic`: which columns outputs may only rise or only fall with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dgtrees.tables.encoder import NUMBER, Encoder

__all__ = ["column_signs"]


def column_signs(
    encoder: Encoder, monotonic: Sequence[int] | Mapping[str, int] | None
) -> np.ndarray:
    """Sign of every encoded column, 0 where there is none, (d,)."""
    given = _given_signs([column.name for column in encoder.columns], monotonic)
    signs = np.zeros(encoder.width, dtype=np.int8)
    starts = np.cumsum([0, *(column.width for column in encoder.columns)])
    for j, sign in enumerate(given):
        column = encoder.columns[j]
        if sign and column.kind != NUMBER:
            raise ValueError(
                f"monotonic is for columns of numbers, got {sign} for {column.name!r}, which "
                f"is a {column.kind}: leave it out"
            )
        if sign:
            signs[starts[j]] = sign
    return signs


def _given_signs(
    names: list[str], given: Sequence[int] | Mapping[str, int] | None
) -> Sequence[int]:
    if given is None:
        return [0] * len(names)
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"monotonic must name columns of X, got {unknown[0]!r}: they are {names[:10]}"
            )
        signs = [given.get(name, 0) for name in names]
    else:
        signs = list(given) if np.iterable(given) else []
    if len(signs) != len(names) or any(sign not in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"monotonic must be {len(names)} numbers, -1, 0 or 1, or a dict of columns, got "
            f"{given!r}"
        )
    return [int(sign) for sign in signs]
