"""Tables with a target, for training and for validation, and the score of a model on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

__all__ = ["read_labelled", "read_validation", "score"]


def read_labelled(source: str, target: str | None, **how: Any) -> Any:
    """A table that has a target."""
    from dgtrees.errors import DataError
    from dgtrees.tables.table import read_table

    table = read_table(source, target, **how)
    if table.y is None:
        listed = ", ".join(table.X.column_names[:12])
        raise DataError(
            f"{table.source}: say which column to learn with --target: it has {listed}"
            + (", ..." if table.X.num_columns > 12 else "")
        )
    return table


def read_validation(
    val: str, table: Any, weight: str | None, reading: dict[str, Any], classes: Any = None
) -> Any:
    """Validation rows with the training table's columns, and its spelling of true and false."""
    from dgtrees.errors import DataError
    from dgtrees.tables.targets import one_spelling

    held = read_labelled(
        val,
        table.target,
        task=table.task,
        weight=weight,
        kinds=table.kinds,
        features=table.X.column_names,
        **reading,
    )
    if table.task == "classification":
        labels = table.y if classes is None else classes
        if labels.dtype.kind == held.y.dtype.kind == "U":
            held = replace(held, y=one_spelling(held.y, labels))
        known = set(labels.tolist())
        unknown = [repr(label) for label in dict.fromkeys(held.y.tolist()) if label not in known]
        if unknown:
            listed = ", ".join(unknown[:8]) + (", ..." if len(unknown) > 8 else "")
            raise DataError(
                f"{held.source}, column {held.target!r}: classes must be those of the training "
                f"table, got {listed}: check the file, or drop such rows"
            )
    return held


def score(model: Any, X: Any, y: Any, weight: Any = None) -> dict[str, float]:
    """Accuracy, or root mean squared error in the target's units."""
    if model._task == "classification":
        return {"accuracy": float(model.score(X, y, sample_weight=weight))}
    from sklearn.metrics import root_mean_squared_error

    return {"rmse": float(root_mean_squared_error(y, model.predict(X), sample_weight=weight))}
