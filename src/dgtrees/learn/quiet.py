"""No warnings of scikit-learn's about fits that are only tried, in any number of threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

__all__ = ["quiet"]


class _Quiet:
    """Counted: `warnings.catch_warnings` of two threads would undo each other's filters."""

    lock = threading.Lock()
    running = 0
    filters: Any = None


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore that an iteration was cut short, and that there are classes for many of the rows."""
    with _Quiet.lock:
        if _Quiet.running == 0:
            _Quiet.filters = warnings.catch_warnings()
            _Quiet.filters.__enter__()
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        _Quiet.running += 1
    try:
        yield
    finally:
        with _Quiet.lock:
            _Quiet.running -= 1
            if _Quiet.running == 0:
                _Quiet.filters.__exit__(None, None, None)
