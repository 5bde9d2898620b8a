"""What comes before training: bytes to install, seconds to import, to compile, to fit at all."""

from __future__ import annotations

import tempfile

import numpy as np
from rich.table import Table

from benchmarks.speed.sides import Side

__all__ = ["measured", "sizes_table", "table"]

ROUNDS = 5
OPTIONS = {"max_depth=8": {"max_depth": 8}, "none": {}}
COLUMNS = {
    "import": "import dgtrees",
    "estimator": "DGTClassifier",
    "first": "first fit",
    "second": "second fit",
    "wall": "to first fit, wall",
}


def measured(sides: list[Side]) -> dict:
    """New processes of every side in turn, with compiled code on disk and without; sizes."""
    times = []
    for options, told in OPTIONS.items():
        for side in sides:
            side.fresh("first_fits", options=told)  # fills the cache
        found: dict[str, list[dict]] = {side.name: [] for side in sides}
        for _ in range(ROUNDS):
            for side in sides:
                found[side.name].append(side.fresh("first_fits", options=told))
        for name, runs in found.items():
            times.append({"side": name, "options": options, "cache": "warm"} | _medians(runs))
        for side in sides:
            with tempfile.TemporaryDirectory() as folder:
                run = side.fresh("first_fits", {"NUMBA_CACHE_DIR": folder}, options=told)
            times.append({"side": side.name, "options": options, "cache": "empty"} | run)
    return {"times": times, "sizes": [_sizes(side) for side in sides]}


def _medians(runs: list[dict]) -> dict:
    return {name: float(np.median([run[name] for run in runs])) for name in runs[0]}


def _sizes(side: Side) -> dict:
    """Bytes of what the project needs, and of what torch adds, here as it is installed."""
    plain = side.ask("sizes", requirements=side.requirements())
    extra = side.ask("sizes", requirements=side.requirements("torch"))
    own = sum(file.stat().st_size for file in (side.folder / "src").rglob("*.py"))
    with_torch = plain | extra
    return {
        "side": side.name,
        "needed": own + sum(plain.values()),
        "with_torch": own + sum(with_torch.values()),
        "packages": len(plain),
        "largest": sorted(plain, key=lambda name: -plain[name])[:4],
    }


def table(found: list[dict]) -> Table:
    """Seconds of new processes."""
    title = "New process, 150 rows: CPU seconds of imports and fits"
    shown = Table(title=title)
    for column in ("arguments", "version", "compiled code"):
        shown.add_column(column)
    for column in COLUMNS.values():
        shown.add_column(column, justify="right")
    for row in found:
        seconds = (f"{row[name]:.2f} s" for name in COLUMNS)
        shown.add_row(row["options"], row["side"], row["cache"], *seconds)
    return shown


def sizes_table(found: list[dict]) -> Table:
    """Megabytes of what is installed."""
    shown = Table(title="Installed: megabytes of files, dependencies included")
    shown.add_column("version")
    for column in ("pip install dgtrees", "with torch", "packages", "largest"):
        shown.add_column(column, justify="left" if column == "largest" else "right")
    for row in found:
        sizes = (f"{row[name] / 1e6:.0f} MB" for name in ("needed", "with_torch"))
        shown.add_row(row["side"], *sizes, str(row["packages"]), ", ".join(row["largest"]))
    return shown
