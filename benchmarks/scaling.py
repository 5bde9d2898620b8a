"""What grows how: CPU time and memory of training against rows, features, height, classes, trees.

    python -m benchmarks.scaling                one process a measurement, some minutes in all

Every axis is changed by itself from one common point. A fit costs a set-up that depends on the
rows (encoding, merging, scaling, the final pass) and steps of one batch each: two fits of
different length tell the two apart. Memory is what the process needs beyond its imports.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

COMMON = {"rows": 20_000, "features": 32, "height": 8, "classes": 10, "trees": 1}
AXES = {
    "rows": (20_000, 80_000, 320_000),
    "features": (32, 128, 512),
    "height": (6, 8, 10, 12),
    "classes": (10, 40, 160),
    "trees": (1, 4, 16),
}


def measure(point: dict[str, int]) -> dict[str, float]:
    """Seconds of set-up, milliseconds a step, microseconds a predicted row, MB of memory."""
    from dgtrees import DGTClassifier, DGTForestClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((point["rows"], point["features"]))
    y = rng.integers(point["classes"], size=point["rows"])
    small, few = X[:500], np.arange(500) % point["classes"]
    DGTClassifier(2, max_epochs=1).fit(small, few).predict(small)  # compiles
    DGTForestClassifier(1, 2, max_epochs=1).fit(small, few).predict(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    batch = 256
    options: dict[str, Any] = {"batch_size": batch, "random_state": 0}
    forest = point["trees"] > 1
    size = {"max_depth": point["height"]} | ({"n_estimators": point["trees"]} if forest else {})
    seconds = []
    for passes in (1, 3):
        model = (DGTForestClassifier if forest else DGTClassifier)(
            **size, max_epochs=passes, **options
        )
        started = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - started)
    a_pass = (seconds[1] - seconds[0]) / 2
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    started = time.process_time()
    model.predict(X)
    predicted = time.process_time() - started
    return {
        "set-up s": max(0.0, seconds[0] - a_pass),
        "step ms": 1000 * a_pass / (point["rows"] / batch),
        "predict us": 1e6 * predicted / point["rows"],
        "memory MB": memory / 1024,
        "data MB": X.nbytes / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", type=json.loads, help="measure one point and print JSON")
    arguments = parser.parse_args()
    if arguments.point:
        print(json.dumps(measure(arguments.point)))
        return
    points = [(axis, {**COMMON, axis: value}) for axis, values in AXES.items() for value in values]
    table = Table(title=f"One axis at a time from {COMMON}, CPU time, batches of 256")
    columns = ("axis", "value", "set-up s", "step ms", "predict us", "memory MB", "data MB")
    for column in columns:
        table.add_column(column, justify="left" if column == "axis" else "right")
    results = []
    for axis, point in track(points, description="points", console=Console(stderr=True)):
        command = [sys.executable, "-m", "benchmarks.scaling", "--point", json.dumps(point)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results.append((axis, point, json.loads(done.stdout)))
        if len(results) > 1 and results[-2][0] != axis:
            table.add_section()
        found = results[-1][2]
        table.add_row(axis, f"{point[axis]:,}", *(f"{found[name]:.3g}" for name in columns[2:]))
    Console().print(table)


if __name__ == "__main__":
    main()
