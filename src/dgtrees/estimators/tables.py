"""What every estimator of tables shares: reading rows and targets with scikit-learn's checks.

`TableEstimator` turns arrays and DataFrames into encoded rows (`tables.encoder`). Training and
answering are the business of whoever derives from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from dgtrees.estimators.sklearn_bases import BaseEstimator
from dgtrees.model.answer import Answer
from dgtrees.model.reading import encode_row
from dgtrees.tables.encoder import Encoder, Targets, columns_of, is_frame
from dgtrees.tables.examples import Examples, hold_out, merge_repeated
from dgtrees.tables.frames import is_numeric
from dgtrees.tables.row_labels import without_row_labels
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["TableEstimator"]

Table = np.ndarray | list[tuple[str, np.ndarray]]

_MOST_SHARES = 64
"""Classes whose shares tell categories apart that have no column of their own."""


class TableEstimator(BaseEstimator):
    """Base of what learns from tables; subclasses say what a target is."""

    random_state: int | np.random.RandomState | None
    validation_fraction: float | str | None
    _encoder: Encoder
    _answer: Answer
    _fitted = "model_"
    """The attribute that a fitted estimator has."""

    # Subclasses' part

    def _learn_target(self, y: Any) -> None:
        """Learn which classes, or how many outputs, there are."""
        raise NotImplementedError

    def _learn_range(self, y: np.ndarray) -> None:
        """Learn what can only be said of rows that have a weight."""

    def _read_target(self, y: Any) -> np.ndarray:
        """Class numbers (rows,) or values (rows, outputs)."""
        raise NotImplementedError

    @property
    def _n_classes(self) -> int:
        """Number of classes, 0 for regression."""
        return 0

    @property
    def _outputs_per_leaf(self) -> int:
        return self._n_classes

    def _outputs(self, X: Any) -> np.ndarray:
        """Class scores or values of every row, (rows, outputs)."""
        raise NotImplementedError

    def _row_outputs(self, x: Any) -> np.ndarray:
        """`_outputs` of a single row of numbers, (outputs,)."""
        return self._outputs(self._row_to_predict(x, encoded=False)[None])[0]

    def _probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Class probabilities from outputs, which are scores where nobody says otherwise."""
        return self._answer.probabilities(outputs)  # type: ignore[union-attr]

    def _row_factors(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """What class weights multiply the weight of every row by; None where there are none."""
        return None

    def _without_weights(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree whose probabilities class weights have no part in."""
        return tree

    def _held_out_share(self, rows: int) -> float | None:
        """Share of the training rows to validate with where no others are given."""
        share = self.validation_fraction
        return None if isinstance(share, str) else share  # "auto" is for subclasses to say

    # Input

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> tuple[Examples, Examples | None, int]:
        """Rows to train with, rows to validate with if there are any, and the seed."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together, got only one of them")
        if X_val is None and sample_weight_val is not None:
            raise ValueError("sample_weight_val needs X_val and y_val, got neither: give them too")
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self._learn_target(y)
        train = self._examples(X, y, sample_weight, first=True)
        self._learn_range(train.y)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        validation = None
        if X_val is not None:
            validation = self._examples(X_val, y_val, sample_weight_val)
        elif share := self._held_out_share(len(train.X)):
            train, validation = hold_out(train, share, seed)
        return train, validation, seed

    def _examples(self, X: Any, y: Any, sample_weight: Any, first: bool = False) -> Examples:
        """Rows, target and weights as training takes them; learns the encoding if `first`."""
        table = self._read_table(X, first)
        rows = table if isinstance(table, np.ndarray) else table[0][1]
        target = self._read_target(y)
        check_consistent_length(rows, target)
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if not weight.any():
            raise ValueError("sample_weight must be above 0 for at least one row, got none")
        encoded = self._learn_encoding(table, weight, target) if first else self._expand(table)
        columns = target[:, None] if target.ndim == 1 else target
        features, columns, weight, number = merge_repeated(encoded, columns, weight)
        return Examples(features, columns[:, 0] if target.ndim == 1 else columns, weight, number)

    def _learn_encoding(self, table: Table, weight: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Learn how columns become numbers, and return those to train with."""
        settings = getattr(self, "encoder", None)
        encoder = self._encoder = Encoder() if settings is None else settings.unfitted()
        if not isinstance(table, np.ndarray):
            return encoder.fit_expand(table, weight, self._targets(target))
        framed = hasattr(self, "feature_names_in_")
        unnamed = [f"x{j}" for j in range(table.shape[1])]
        encoder.fit_numbers(
            table, weight, list(self.feature_names_in_) if framed else unnamed, framed
        )
        return encoder.expand_numbers(table)

    def _targets(self, target: np.ndarray) -> Targets:
        """What categories take statistics of: shares of the most frequent classes, or values."""
        if not self._n_classes:
            values = target.reshape(len(target), -1)
            many = values.shape[1] > 1
            names = [f"mean target {k}" if many else "mean target" for k in range(values.shape[1])]
            return Targets(values, tuple(names))
        rows = np.bincount(target, minlength=self._n_classes)
        # With two classes the share of one says it all.
        kept = np.sort(np.argsort(-rows, kind="stable")[:_MOST_SHARES])
        kept = kept[1:] if len(rows) == 2 else kept
        labels = self._answer.names or []
        names = [f"share of {labels[k]}" for k in kept]
        return Targets((target[:, None] == kept).astype(np.float64), tuple(names))

    def _read_table(self, X: Any, first: bool) -> Table:
        """An array of floats, or columns where some are categories (or objects)."""
        if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
            raise TypeError(
                "X must be a table of rows, got a list of dicts: pandas.DataFrame(X) makes one"
            )
        X = without_row_labels(X)
        columns = columns_of(X) if is_frame(X) else None
        if columns is not None and not all(is_numeric(values) for _, values in columns):
            as_columns = True
        else:
            as_columns = not first and not self._encoder.numeric
        if not as_columns:
            try:
                return validate_data(
                    self,
                    X,
                    reset=first,
                    dtype=[np.float64, np.float32],
                    ensure_all_finite="allow-nan",
                    estimator=self,
                )
            except ValueError as error:
                if "could not convert string to float" not in str(error):
                    raise
                raise ValueError(
                    f"X must hold numbers ({error}): pass a DataFrame, whose text columns are "
                    "encoded, or encode them yourself"
                ) from error
        if columns is None:
            if sparse.issparse(X):
                raise TypeError("X must be dense where columns hold text, got a sparse matrix")
            X = np.asarray(X, dtype=object)
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X")
            columns = columns_of(X)
        validate_data(self, X, reset=first, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError("X must have at least one row, got 0: check how it was read")
        return columns

    def _expand(self, table: Table) -> np.ndarray:
        if isinstance(table, np.ndarray):
            return self._encoder.expand_numbers(table)
        return self._encoder.expand(table)

    def _rows_to_predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self, self._fitted)
        return self._expand(self._read_table(X, first=False))

    def _plain_rows(self, X: Any) -> np.ndarray | None:
        """Rows that are their own encoding unless a number is missing or infinite; None for others.

        Whoever routes them looks at the numbers anyway: checking them before takes longer than
        routing does.
        """
        check_is_fitted(self, self._fitted)
        plain = self._encoder.plain and self._encoder.reach is None
        if not plain or type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32):
            return None
        named = hasattr(self, "feature_names_in_")
        if X.ndim == 2 and len(X) and X.shape[1] == self.n_features_in_ and not named:
            return X  # scikit-learn would say the same, in the time of ten thousand rows
        return np.asarray(validate_data(self, X, reset=False, ensure_all_finite=False))

    def _row_to_predict(self, x: Any, encoded: bool = True) -> np.ndarray:
        """One row of numbers, checked without scikit-learn, which takes 100 us for it."""
        if not hasattr(self, self._fitted):
            check_is_fitted(self, self._fitted)
        names = getattr(self, "feature_names_in_", None)
        return encode_row(x, self._encoder, names, encoded)

    @property
    def encoded_feature_names_(self) -> list[str]:
        """Names of the columns that the tree's weights refer to, one-hot columns included."""
        check_is_fitted(self, self._fitted)
        return self._encoder.feature_names

    @property
    def column_kinds_(self) -> dict[str, str]:
        """Name of every input column, and its kind: "number", "category", "date" or "unused"."""
        check_is_fitted(self, self._fitted)
        return {column.name: column.kind for column in self._encoder.columns}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
