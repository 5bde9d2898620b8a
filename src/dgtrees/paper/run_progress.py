"""A run that can be watched: a line per finished cell, and a bar with the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dgtrees.paper import runner
from dgtrees.paper.cells import Cell


def run(
    cells: list[Cell],
    folder: Path,
    *,
    jobs: int,
    budget: float | None,
    bar: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> runner.Outcome:
    """As `runner.run`, with a line to `say` per cell and the bar on standard error."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(file=sys.stderr),
        disable=not bar,
        transient=True,
    ) as progress:
        task = progress.add_task("runs", total=len(cells), left="")

        def watch(cell: Cell, record: dict[str, Any] | None, outcome: runner.Outcome) -> None:
            ended = len(cells) - len(outcome.left)
            left = f"about {format_seconds(outcome.seconds / jobs)} left"
            progress.update(task, completed=ended, left=left)
            say(f"{cell.title}: {_format_result(record)}; {len(outcome.left)} to go, {left}")

        return runner.run(cells, folder, jobs=jobs, budget=budget, watch=watch)


def _format_result(record: dict[str, Any] | None) -> str:
    if record is None:
        return "FAILED"
    test, cost = record["scores"]["test"], record["cost"]
    score = "diverged" if test is None else f"test {record['metric']} {test:.4g}"
    return f"{score} in {format_seconds(cost['seconds'])}, {cost['memory_mb']:.0f} MB"


def format_seconds(seconds: float) -> str:
    """A time to read.

    >>> format_seconds(4.2), format_seconds(600), format_seconds(50_000)
    ('4.2 s', '10 min', '13.9 h')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
