"""What a cell will cost: by what the same method took on the same data set, else as declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dgtrees.paper.cells import Cell


class Costs:
    """Seconds of cells on one core, learnt from the records of a folder."""

    def __init__(self, folder: Path) -> None:
        self.fits: dict[tuple[str, str, str], list[float]] = {}
        self.selections: dict[tuple[str, str, str], list[float]] = {}
        for path in folder.glob("*/*.json"):
            self.add(json.loads(path.read_text()))

    def add(self, record: dict[str, Any]) -> None:
        """Learn from one more record."""
        key = (record["experiment"], record["dataset"], record["method"])
        cost = record["cost"]
        self.fits.setdefault(key, []).append(cost["fit_seconds"])
        if "tried" in record["choice"]:
            self.selections.setdefault(key, []).append(cost["selection_seconds"])

    def seconds(self, cell: Cell) -> float:
        """What is to be expected of a cell."""
        key = (cell.experiment, cell.dataset, cell.method)
        fits = self.fits.get(key)
        fit = sum(fits) / len(fits) if fits else cell.seconds
        if not cell.chooses:
            return fit
        known = self.selections.get(key)
        if known:
            return fit + sum(known) / len(known)
        return fit + len(cell.grid) * fit * _share(cell)


def _share(cell: Cell) -> float:
    """Length of a selection fit as a share of a final one."""
    shares = [
        _last(cell.selection[name]) / _last(cell.fixed[name])
        for name in ("max_epochs", "n_estimators", "queries", "passes", "rows")
        if name in cell.selection and name in cell.fixed
    ]
    return min(shares, default=1.0)


def _last(value: Any) -> float:
    return float(value[-1] if isinstance(value, list) else value)
