"""Prediction of one row and of 10,000, ours and others', and the distance to memory's limit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.speed import memory
from benchmarks.speed.contestants import OURS, ROWS, Task
from benchmarks.speed.timing import Times, alternate
from dgtrees.tree.inputs import available_threads

__all__ = ["GOALS", "goals_table", "measured", "memory_table", "times_table"]

FORMS = {
    "single": "one row",
    "batch": "10,000 rows, 1 thread",
    "batch_all": "10,000 rows, {} threads",
}

GOALS = (
    ("one row, one tree", "single", 1, None, "scikit-learn tree", 20.0),
    ("one row, one tree", "single", 1, None, "onnxruntime", 1.0),
    ("10,000 rows, d = 784", "batch", 1, 784, "NumPy, all nodes", 5.0),
    ("10,000 rows, d = 784", "batch", 1, 784, "onnxruntime", 3.0),
    ("10,000 rows, d = 90, 30 trees", "batch", 30, 90, "exported C", 0.5),
)
"""What, form, trees, features (None for all), against whom, at least how many times faster."""


def measured(
    widths: list[int], trees: list[int], rounds: int, report: Callable[[str], None]
) -> Iterator[dict]:
    """Seconds a row, ratios and memory's limit for every number of features and of trees."""
    bandwidth = memory.copy_bandwidth()
    for d in widths:
        for n_trees in trees:
            report(f"d = {d}, {n_trees} trees: making models")
            with tempfile.TemporaryDirectory() as folder:
                task = Task(d, n_trees, Path(folder))
                report(f"d = {d}, {n_trees} trees: measuring")
                yield _measured(task, rounds, bandwidth)


def _measured(task: Task, rounds: int, bandwidth: float) -> dict:
    threads = available_threads()
    # On one thread the calling thread's own time: what other processes take is not counted.
    with threadpool_limits(1):
        single = alternate(task.single(), 2 * rounds, clock=time.thread_time)
        batch = alternate(task.batch(), rounds, clock=time.thread_time)
    forms = {"single": single, "batch": batch}
    if threads > 1:
        with threadpool_limits(threads):
            forms["batch_all"] = alternate(task.batch_on_all(threads), rounds)
    result: dict = {"d": task.d, "trees": task.n_trees, "threads": threads}
    for form, times in forms.items():
        result[form] = _described(times, 1 if form == "single" else ROWS)
    for name, itemsize in ((OURS, 8), (f"{OURS}, float32", 4)):
        seconds = result["batch"][name]["seconds_a_row"]
        touched, floor = (
            count(task, itemsize) for count in (memory.touched_bytes, memory.floor_bytes)
        )
        result.setdefault("memory", {})[name] = {
            "copy_bytes_a_second": bandwidth,
            "touched_bytes_a_row": touched,
            "floor_bytes_a_row": floor,
            "times_touched_limit": seconds / (touched / bandwidth),
            "times_floor": seconds / (floor / bandwidth),
        }
    return result


def _described(times: Times, rows: int) -> dict:
    return {
        name: {"seconds_a_row": times.median(name) / rows, "ratio": times.ratio(name, OURS)}
        for name in times
    }


def times_table(found: list[dict], form: str) -> Table:
    """Microseconds a row, and in brackets how many times ours that is."""
    title = FORMS[form].format(found[0]["threads"])
    shown = Table(title=f"{title}: us a row (times ours)".capitalize())
    shown.add_column("")
    for result in found:
        shown.add_column(_setting(result), justify="right")
    names = dict.fromkeys(name for result in found for name in result[form])
    for name in names:
        cells = []
        for result in found:
            cell = result[form].get(name)
            cells.append(
                f"{_short(1e6 * cell['seconds_a_row'])} ({_short(cell['ratio'])}x)" if cell else "-"
            )
        shown.add_row(name, *cells)
    return shown


def memory_table(found: list[dict]) -> Table:
    """Distance to the time in which memory could be copied."""
    bandwidth = found[0]["memory"][OURS]["copy_bytes_a_second"]
    shown = Table(title=f"10,000 rows, 1 thread, against copying at {bandwidth / 1e9:.1f} GB/s")
    shown.add_column("")
    for column in ("us a row", "KB touched", "times limit", "KB at least", "times floor"):
        shown.add_column(column, justify="right")
    for result in found:
        for name, limits in result["memory"].items():
            shown.add_row(
                _setting(result) + name.removeprefix(OURS),
                _short(1e6 * result["batch"][name]["seconds_a_row"]),
                f"{limits['touched_bytes_a_row'] / 1e3:.1f}",
                f"{limits['times_touched_limit']:.2f}",
                f"{limits['floor_bytes_a_row'] / 1e3:.2f}",
                f"{limits['times_floor']:.1f}",
            )
    return shown


def goals_table(found: list[dict]) -> Table:
    """Whether what has to be reached was, as far as it was measured."""
    shown = Table(title="Goals")
    for column in ("what", "against", "faster by", "at least", ""):
        shown.add_column(column)
    for what, form, trees, d, against, least in GOALS:
        for result in found:
            if result["trees"] == trees and d in (None, result["d"]) and against in result[form]:
                ratio = result[form][against]["ratio"]
                what_d = what if d else f"{what}, d = {result['d']}"
                verdict = "reached" if ratio >= least else "MISSED"
                shown.add_row(what_d, against, f"{ratio:.1f}x", f"{least:g}x", verdict)
    return shown


def _setting(result: dict) -> str:
    trees = "1 tree" if result["trees"] == 1 else f"{result['trees']} trees"
    return f"d={result['d']}, {trees}"


def _short(number: float) -> str:
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"
