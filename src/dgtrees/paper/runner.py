"""Runs cells: what is done is skipped, each of the others has a process and one thread to itself.

Records are written by the process that made them, complete or not at all. Whoever stops the
runner, by whatever means, loses at most the cells that were under way: their processes end with
it, and the next run starts there.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from dgtrees.paper import splits
from dgtrees.paper.cells import Cell
from dgtrees.paper.costs import Costs

_LIMIT = 45 * 60.0
"""Seconds after which a cell is given up: something is wrong with it."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_SOURCE = Path(__file__).parents[2]


@dataclass
class Outcome:
    """What a run did, as lists of cells."""

    done: list[Cell] = field(default_factory=list)
    before: list[Cell] = field(default_factory=list)
    absent: list[Cell] = field(default_factory=list)
    failed: list[Cell] = field(default_factory=list)
    left: list[Cell] = field(default_factory=list)
    seconds: float = 0.0
    """Estimated seconds on one core for what is left."""


Watch = Callable[[Cell, dict[str, Any] | None, Outcome], None]


def run(
    cells: list[Cell],
    folder: Path,
    *,
    jobs: int = 2,
    budget: float | None = None,
    watch: Watch = lambda cell, record, outcome: None,
) -> Outcome:
    """Run what is missing, cheapest first; after `budget` seconds nothing more is started.

    `watch` is called after every cell, with its record or None where it failed.
    """
    outcome, started = Outcome(), time.monotonic()
    here = {name: splits.is_present(name) for name in {cell.dataset for cell in cells}}
    costs = Costs(folder)
    for cell in cells:
        if cell.read_record(folder) is not None:
            outcome.before.append(cell)
        elif not here[cell.dataset]:
            outcome.absent.append(cell)
        else:
            outcome.left.append(cell)
    # A further seed tells less than the first: it has to be cheaper to come as early.
    outcome.left.sort(key=lambda cell: (costs.seconds(cell) * (1 + cell.seed), cell.path))
    with _Processes(folder) as processes:
        while outcome.left or processes.running:
            late = budget is not None and time.monotonic() - started >= budget
            while len(processes.running) < jobs and not late:
                ready = next((cell for cell in outcome.left if _is_ready(cell, folder)), None)
                if ready is None:
                    break
                outcome.left.remove(ready)
                processes.start(ready)
            if not processes.running:
                break
            for cell, record in processes.collect():
                (outcome.done if record else outcome.failed).append(cell)
                if record:
                    costs.add(record)
                outcome.seconds = sum(costs.seconds(c) for c in outcome.left)
                watch(cell, record, outcome)
    return outcome


def _is_ready(cell: Cell, folder: Path) -> bool:
    return cell.source is None or cell.source.read_record(folder) is not None


class _Processes:
    """Processes forked from one that has imported everything, so that a cell starts at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[Any, tuple[Any, Cell, float]] = {}
        self.context = multiprocessing.get_context("forkserver")

    def __enter__(self) -> _Processes:
        # For the server and all that it forks, which read these when they import.
        paths = [str(_SOURCE), os.environ.get("PYTHONPATH", "")]
        changes = dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(paths)}
        self.before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        # The first use of an optimiser of torch, which the baselines have, imports `torch._dynamo`.
        self.context.set_forkserver_preload(["torch", "torch._dynamo", "dgtrees.paper.work"])
        return self

    def __exit__(self, *error: object) -> None:
        for process, _, _ in self.running.values():
            process.kill()
            process.join()
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def start(self, cell: Cell) -> None:
        process = self.context.Process(target=_run_cell, args=(cell, self.folder), daemon=True)
        process.start()
        self.running[process.sentinel] = (process, cell, time.monotonic())

    def collect(self) -> list[tuple[Cell, dict[str, Any] | None]]:
        """The cells that have ended since, after waiting for one; with their records."""
        ended = wait(list(self.running), timeout=1.0)
        found = []
        for sentinel, (process, cell, since) in list(self.running.items()):
            late = time.monotonic() - since > _LIMIT
            if late:
                process.kill()
            if sentinel in ended or late:
                process.join()
                del self.running[sentinel]
                found.append(
                    (cell, cell.read_record(self.folder) if process.exitcode == 0 else None)
                )
        return found


def _run_cell(cell: Cell, folder: Path) -> None:
    """In a process of its own: run a cell and write its record."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from dgtrees.paper import work

    work.write(work.run(cell, folder), folder / cell.path)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # returns when it is gone, however it went
    os._exit(1)
