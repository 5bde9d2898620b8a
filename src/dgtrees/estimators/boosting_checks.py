"""Parameters of boosted models: what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from dgtrees.errors import Problems
from dgtrees.learn.boosting_settings import LEAVES

__all__ = ["check_boosting", "check_tuning"]

_SHARES = (
    ("learning_rate", 0.0, 1.0),
    ("max_samples", 0.0, 1.0),
    ("max_features", 0.0, 1.0),
)


def check_boosting(given: Mapping[str, Any]) -> None:
    """Refuse parameters that no boosted model can have, all at once."""
    problems = Problems()
    leaves, share, l2 = (given[name] for name in ("max_leaves", "validation_fraction", "l2"))
    problems.require(
        _whole(leaves) and leaves >= 2,
        f"max_leaves must be a whole number of at least 2, got {leaves!r}",
    )
    for name in ("n_estimators", "min_samples_leaf"):
        value = given[name]
        problems.require(
            _auto(value) or (_whole(value) and value >= 1),
            f"{name} must be 'auto' or a whole number of at least 1, got {value!r}",
        )
    for name, low, high in _SHARES:
        value = given[name]
        problems.require(
            _real(value) and low < value <= high,
            f"{name} must be a number above {low} and at most {high}, got {value!r}",
        )
    leaf = given["leaf"]
    problems.require(
        isinstance(leaf, str) and leaf in ("auto", *LEAVES),
        f"leaf must be 'auto', {', '.join(map(repr, LEAVES[:-1]))} or {LEAVES[-1]!r}, got {leaf!r}",
    )
    problems.require(
        not isinstance(leaf, str) or leaf in ("auto", "constant") or given["oblique"] is not False,
        f"leaf must be 'auto' or 'constant' with oblique=False, got {leaf!r}: leave one out",
    )
    for name in ("oblique", "linear", "tune"):
        value = given[name]
        problems.require(
            isinstance(value, bool) or _auto(value),
            f"{name} must be 'auto', True or False, got {value!r}",
        )
    for name, least in (("patience", 1), ("n_folds", 2)):
        value = given[name]
        problems.require(
            value is None or (_whole(value) and value >= least),
            f"{name} must be None or a whole number of at least {least}, got {value!r}",
        )
    problems.require(
        given["tune"] is not True or given["monotonic"] is None,
        "tune must be 'auto' or False with monotonic, which moving leaves could break, got True: "
        "leave one out",
    )
    problems.require(
        share is None or (_real(share) and 0.0 < share < 1.0),
        f"validation_fraction must be between 0 and 1 or None, got {share!r}",
    )
    problems.require(
        _real(l2) and 0.0 <= l2 < np.inf,
        f"l2 must be a number of at least 0, got {l2!r}",
    )
    problems.settle()


def check_tuning(given: Mapping[str, Any], validation_rows: bool) -> None:
    """Refuse to tune trees together where no rows are held out to judge it by."""
    folds = given["n_folds"] is not None and given["patience"] is not None
    if given["tune"] is True and not (folds or given["validation_fraction"] or validation_rows):
        raise ValueError(
            "tune must be 'auto' or False without held-out rows, got True: set n_folds and "
            "patience, validation_fraction or X_val"
        )


def _auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
