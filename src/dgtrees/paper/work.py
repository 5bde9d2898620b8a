"""One cell: choose settings on validation rows, train, measure, record."""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dgtrees import __version__
from dgtrees.errors import StateError
from dgtrees.paper import streams, supervised
from dgtrees.paper.cells import TREES, Cell, describe_preset
from dgtrees.paper.splits import facts, load_parts

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "xgboost-cpu", "vowpalwabbit")

QUICK = {name: kind.quick or {} for name, kind in supervised.KINDS.items()} | streams.QUICK
"""Settings that make every kind of method quick, for a smoke run."""


def run(cell: Cell, folder: Path) -> dict[str, Any]:
    """The record of a cell; the folder has the record whose choice it may have to take over."""
    started, cpu, memory = time.perf_counter(), time.process_time(), _measure_memory()
    data, known = load_parts(cell.dataset, cell.seed), facts(cell.dataset)
    trial = _Trial(cell, data, known)
    loaded = time.perf_counter()
    choice, best = trial.choose(folder)
    chosen = time.perf_counter()
    scores, found = trial.finish(choice, best)
    return {
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "method": cell.method,
        "seed": cell.seed,
        "kind": cell.kind,
        "height": cell.height,
        "metric": known.metric,
        "rows": list(data.rows),
        "settings": cell.fixed | choice["settings"],
        "recipe": describe_recipe(cell),
        "choice": choice,
        "scores": {name: _to_json(value) for name, value in scores.items()},
        "details": found,
        "declared": cell.declared,
        "versions": list_versions(),
        "cost": {
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu,
            "selection_seconds": chosen - loaded,
            "fit_seconds": time.perf_counter() - chosen if best is None else trial.best_seconds,
            "memory_mb": _measure_memory(),
            "memory_added_mb": _measure_memory() - memory,
        },
    }


def describe_recipe(cell: Cell) -> dict[str, Any]:
    """The recipe that a cell's settings are changes of, where it trains by one."""
    return describe_preset(facts(cell.dataset).task, cell.fixed) if cell.kind in TREES else {}


class _Trial:
    """Trains and judges settings of one cell."""

    def __init__(self, cell: Cell, data: Any, known: Any) -> None:
        self.cell, self.data, self.known = cell, data, known
        self.supervised = cell.kind in supervised.KINDS
        self.best_seconds = 0.0

    def choose(self, folder: Path) -> tuple[dict[str, Any], Any]:
        """The settings to use and how they were found; the model, where it is final already."""
        cell = self.cell
        if len(cell.grid) == 1:
            return {"settings": cell.grid[0], "how": "declared"}, None
        if cell.source is not None:
            record = cell.source.read_record(folder)
            if record is None:
                raise StateError(
                    f"{cell.title} takes its settings from seed {cell.source.seed}, which has not "
                    "been run: run it first"
                )
            how = f"chosen on validation rows with seed {cell.source.seed}"
            return {"settings": record["choice"]["settings"], "how": how}, None
        tried, best = [], None
        sign = 1.0 if self.known.metric == "rmse" else -1.0
        for candidate in cell.grid:
            started = time.perf_counter()
            model, val = self._try(candidate)
            tried.append({"settings": candidate, "val": _to_json(val)})
            rank = sign * val if math.isfinite(val) else math.inf
            if best is None or rank < best[0]:
                best = rank, candidate, model
                self.best_seconds = time.perf_counter() - started
        assert best is not None
        how = f"chosen on validation rows with seed {cell.seed}"
        choice = {"settings": best[1], "how": how, "tried": tried}
        # A selection fit with nothing changed is the final fit.
        return choice, best[2] if self.supervised and not cell.selection else None

    def _try(self, candidate: dict[str, Any]) -> tuple[Any, float]:
        settings = self.cell.fixed | candidate | self.cell.selection
        if not self.supervised:
            return None, self._run_stream(settings, final=False)["score"]
        model = self._fit(settings)
        data = self.data
        return model, supervised.score(model, self.known.metric, data.X_val, data.y_val)

    def finish(self, choice: dict[str, Any], model: Any) -> tuple[dict[str, float], dict[str, Any]]:
        """Scores on all parts with the chosen settings; the test part is looked at here only."""
        settings, data = self.cell.fixed | choice["settings"], self.data
        if not self.supervised:
            done = self._run_stream(settings, final=True)
            return {"test": done["score"]}, {"curve": done["curve"]}
        if settings.get("rows") == "all":  # then there is no validation part to judge by
            data = supervised.select_rows(data, "all")
        model = self._fit(settings) if model is None else model
        score = lambda X, y: supervised.score(model, self.known.metric, X, y)  # noqa: E731
        scores = {
            "train": score(data.X_train, data.y_train),
            "val": score(data.X_val, data.y_val),
            "test": score(data.X_test, data.y_test),
        }
        return scores, supervised.describe_model(model, data)

    def _fit(self, settings: dict[str, Any]) -> Any:
        cell = self.cell
        return supervised.fit_model(
            cell.kind, self.known.task, cell.height, cell.seed, settings, self.data
        )

    def _run_stream(self, settings: dict[str, Any], final: bool) -> dict[str, Any]:
        cell = self.cell
        return streams.run_stream(cell.kind, cell.height, cell.seed, settings, self.data, final)


def _measure_memory() -> float:
    """Most megabytes that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def list_versions() -> dict[str, str]:
    """Of everything that may shape a figure."""
    found = {"python": platform.python_version(), "dgtrees": __version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _to_json(value: float) -> float | None:
    """A score as JSON can hold it: what diverged has none."""
    return float(value) if math.isfinite(value) else None


def write(record: dict[str, Any], path: Path) -> None:
    """A complete file or none: readers and later runs never see half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(record, indent=1) + "\n")
    temporary.replace(path)
