"""Where the benchmarks look for the paper's data sets."""

from __future__ import annotations

import os
from pathlib import Path

from dgtrees.paper import catalog

_MIRROR = Path(__file__).resolve().parents[2] / "shared" / "datasets"


def data_folder() -> Path:
    """DGTREES_DATA; else ../shared/datasets beside the repository, if there; else the cache."""
    if "DGTREES_DATA" not in os.environ and _MIRROR.is_dir():
        return _MIRROR
    return catalog.data_folder()
