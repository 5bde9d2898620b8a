"""Row labels: the nameless index that pandas writes beside a frame's columns in Arrow tables.

Labels say where a row stood, which in a sorted table gives the target away: they are no feature.
An index with a name is somebody's column, and stays.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["row_labels", "without_row_labels"]

_NAMES = re.compile(r"__index_level_\d+__")


def row_labels(schema: Any) -> set[str]:
    """Names of the columns of an Arrow schema that hold row labels."""
    try:
        written = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        return {n for n in written if isinstance(n, str) and _NAMES.fullmatch(n)}
    except (ValueError, KeyError, TypeError):  # not pandas', or not as pandas writes it
        return set()


def without_row_labels(X: Any) -> Any:
    """An Arrow table without its row labels; anything else as it is."""
    if not hasattr(X, "column_names"):
        return X
    labels = row_labels(X.schema) & set(X.column_names)
    return X.drop_columns(sorted(labels)) if labels else X
