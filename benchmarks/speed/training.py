"""Training steps and whole fits: against their arithmetic, and against another checkout.

All in processor time, which other processes disturb least, the sides in turns: of the training
thread for steps (where the process has spent more, in threads of BLAS that idle, a line says so),
of the process for fits. What is compared is the same step, of this checkout's default recipe; fits
have the defaults of each version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.table import Table

from benchmarks.speed import bound, layer, start, threads
from benchmarks.speed.sides import OTHER, OURS, Side, sides
from benchmarks.speed.timing import Times
from benchmarks.speed.training_tables import FITS, STEPS, TrainingTable, training_table
from dgtrees.learn.layout import Layout, make_layout
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.widths import hidden_widths
from dgtrees.paper.catalog import CATALOG, status
from dgtrees.tree.topology import child_pointers

__all__ = ["PARTS", "measured", "tables"]

STEP_GOALS = {
    "segment": 6.0,
    "satimage": 6.0,
    "ailerons": 6.0,
    "letter": 5.0,
    "covtype": 3.5,
    "mnist": 2.0,
}
FIT_GOAL = 8.0
"""How many times faster than the first release a step and a fit have to be."""

_STEPS = 200
"""Steps, roughly, that one timing makes."""

_IDLING = 1.05
"""Times the training thread's time that a process may spend without a remark."""

_SLOW_FIT = 15.0
"""Seconds from which on a fit is timed twice only."""


def measured(parts: list[str], rounds: int, report: Callable[[str], None]) -> Iterator[dict]:
    """Results of the named parts, one after the other."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        compared = [stack.enter_context(side) for side in sides()]
        for part in parts:
            report(part)
            yield {part: PARTS[part](folder, compared, rounds, report)}


# Steps


def _steps(
    folder: Path, compared: list[Side], rounds: int, report: Callable[[str], None]
) -> list[dict]:
    found = []
    for name, rows in STEPS.items():
        report(f"steps: {name}")
        found.append(_step(training_table(name, folder, rows), compared, rounds))
    return found


def _step(table: TrainingTable, compared: list[Side], rounds: int) -> dict:
    recipe = RECIPES["default"]["classification" if table.classes else "regression"]
    layout = _layout(table, recipe)
    products = bound.products(layout)
    a_pass = -(-table.rows // recipe.rows_a_step(table.rows))
    told = {
        "path": table.path,
        "height": table.height,
        "classes": table.classes,
        # From the second on, an epoch counts.
        "epochs": max(2, round(_STEPS / a_pass)),
        "recipe": asdict(recipe),
    }
    times = Times({name: np.empty(rounds) for name in (*(s.name for s in compared), "bound")})
    whole = Times({side.name: np.empty(rounds) for side in compared})
    for i in range(rounds):
        for side in compared:
            answer = side.ask("steps", **told)
            times[side.name][i] = answer["seconds"]
            whole[side.name][i] = answer["process_seconds"]
        times["bound"][i] = bound.seconds(products)
    found = asdict(table) | {
        "rows_a_step": recipe.rows_a_step(table.rows),
        "multiply_adds": sum(product.multiply_adds for product in products),
        "seconds": times.median(OURS),
        "bound_seconds": times.median("bound"),
        "share": times.ratio("bound", OURS),
        "goal": STEP_GOALS.get(table.name),
        "process_seconds": {name: whole.median(name) for name in whole},
    }
    return found | _against(times)


def _layout(table: TrainingTable, recipe: Recipe) -> Layout:
    left, right = child_pointers(table.height)
    hidden = hidden_widths(table.height, recipe.n_layers, recipe.hidden)
    rows = recipe.rows_a_step(table.rows)
    outputs = table.classes or 1
    return make_layout(table.features, outputs, False, hidden, left, right, table.height, rows)


def _against(times: Times) -> dict:
    if OTHER not in times:
        return {}
    return {"other_seconds": times.median(OTHER), "ratio": times.ratio(OTHER, OURS)}


def _steps_table(found: list[dict]) -> Table:
    shown = Table(title="One training step, one thread: CPU us (bound: matrix products alone)")
    columns = ("", "h", "d", "rows", "M mult.-adds", "us", "bound", "share of it")
    _add_columns(shown, columns, found)
    for row in found:
        shown.add_row(
            row["title"],
            str(row["height"]),
            str(row["features"]),
            str(row["rows_a_step"]),
            f"{row['multiply_adds'] / 1e6:.1f}",
            f"{1e6 * row['seconds']:.0f}",
            f"{1e6 * row['bound_seconds']:.0f}",
            f"{100 * row['share']:.0f}%",
            *_cells(row, 1e6, "{:.0f}"),
        )
    return shown


# Fits


def _fits(
    folder: Path, compared: list[Side], rounds: int, report: Callable[[str], None]
) -> list[dict]:
    found = []
    for name in FITS:
        if name not in STEPS and not status(name).present:
            why = CATALOG[name].why_absent or "data absent"
            found.append({"title": CATALOG[name].title, "skipped": why})
            continue
        table = training_table(name, folder)
        for validation in (False, True):
            report(f"fits: {name}, {'with' if validation else 'without'} validation rows")
            found.append(_fit(table, validation, compared, rounds))
    return found


def _fit(table: TrainingTable, validation: bool, compared: list[Side], rounds: int) -> dict:
    told = {"path": table.path, "height": table.height, "classes": table.classes}
    told["validation"] = validation
    for side in compared:
        side.ask("fit", epochs=1, **told)  # loads compiled code
    seconds: dict[str, list[float]] = {side.name: [] for side in compared}
    while len(seconds[OURS]) < min(rounds, _turns(seconds)):
        for side in compared:
            seconds[side.name].append(side.ask("fit", **told)["seconds"])
    times = Times({name: np.array(values) for name, values in seconds.items()})
    found = asdict(table) | {"validation": validation, "seconds": times.median(OURS)}
    return found | {"goal": FIT_GOAL, "turns": len(times[OURS])} | _against(times)


def _turns(seconds: dict[str, list[float]]) -> int:
    longest = max((values[0] for values in seconds.values() if values), default=0.0)
    return 2 if longest > _SLOW_FIT else 3


def _fits_table(found: list[dict]) -> Table:
    shown = Table(title="Default fit at the paper's height: CPU s")
    made = [row for row in found if "seconds" in row]
    _add_columns(shown, ("", "h", "rows", "validation", "s"), made)
    for row in made:
        shown.add_row(
            row["title"],
            str(row["height"]),
            str(row["rows"]),
            "rows" if row["validation"] else "none",
            f"{row['seconds']:.2f}",
            *_cells(row, 1, "{:.1f}"),
        )
    return shown


# What a process needs, threads, the torch layer


def _start(folder: Path, compared: list[Side], rounds: int, report: Callable[[str], None]) -> dict:
    return start.measured(compared)


def _threads(
    folder: Path, compared: list[Side], rounds: int, report: Callable[[str], None]
) -> list[dict]:
    found = []
    for name in threads.EPOCHS_OF:
        report(f"threads: {name}")
        found.append(threads.epochs(training_table(name, folder, STEPS[name]), rounds))
    report("threads: tries")
    return [*found, threads.tries(training_table(threads.TRIES_OF, folder), min(3, rounds))]


def _layer(
    folder: Path, compared: list[Side], rounds: int, report: Callable[[str], None]
) -> list[dict]:
    return layer.steps(rounds)


PARTS = {"steps": _steps, "fits": _fits, "start": _start, "threads": _threads, "layer": _layer}


# Showing


def _add_columns(shown: Table, columns: tuple[str, ...], found: list[dict]) -> None:
    if any("ratio" in row for row in found):
        columns += (OTHER, "faster by", "at least", "reached")
    for column in columns:
        shown.add_column(column, justify="right" if column else "left")


def _cells(row: dict, unit: float, form: str) -> list[str]:
    """What another checkout takes, as the last cells of a line."""
    if "ratio" not in row:
        return []
    cells = [form.format(unit * row["other_seconds"]), f"{row['ratio']:.1f}x"]
    goal = row["goal"]
    return [*cells, f"{goal:g}x", "yes" if row["ratio"] >= goal else "NO"] if goal else cells


def tables(results: dict) -> Iterator[Table | str]:
    """What `measured` has found, part by part."""
    ways = {"steps": _steps_table, "fits": _fits_table}
    ways |= {"threads": threads.table, "layer": layer.table}
    for part, found in results.items():
        if part == "start":
            yield start.table(found["times"])
            yield start.sizes_table(found["sizes"])
            continue
        yield ways[part](found)
        if part in ("steps", "fits"):
            yield from _reasons(found)


def _reasons(found: list[dict]) -> Iterator[str]:
    for title, row in {row["title"]: row for row in found}.items():
        if why := row.get("skipped"):
            yield f"{title} left out: {why}"
        elif why := row.get("made_up"):
            yield f"{title}: normal columns of the same shape, because {why}"
        for side, whole in row.get("process_seconds", {}).items():
            thread = row["seconds" if side == OURS else "other_seconds"]
            if whole > _IDLING * thread:
                yield f"{title}, {side}: {1e6 * whole:.0f} us by the clock of the whole process"
