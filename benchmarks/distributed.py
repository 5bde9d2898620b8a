"""One tree of covtype, by one process in memory and by one and two workers on Parquet shards.

    python -m benchmarks.distributed                       height 8, seed 0
    python -m benchmarks.distributed --seeds 3 --batch-size 1024
    python -m benchmarks.distributed --set letter --seeds 3

The training part is written as eight Parquet files to a temporary folder and the validation part
as another; the test part is looked at once. Seconds are those of the whole call: reading,
encoding, starting workers, training; "cpu" is what all processes together spent on processors,
which other programs on the machine do not change much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from rich.console import Console
from rich.table import Table

from dgtrees import DGTClassifier, fit_shards
from dgtrees.learn import RECIPES
from dgtrees.paper.catalog import Split, data_folder, load

SHARDS = 8
WAYS = ("in memory", "1 worker", "2 workers")


def as_table(X: np.ndarray, y: np.ndarray) -> pa.Table:
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "label": y})


def write_shards(parts: Split, folder: Path) -> None:
    Path(folder, "train").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(parts.X_train)), SHARDS)):
        table = as_table(parts.X_train[rows], parts.y_train[rows])
        parquet.write_table(table, folder / "train" / f"{i}.parquet")
    parquet.write_table(as_table(parts.X_val, parts.y_val), folder / "val.parquet")


def processor_seconds() -> float:
    """Time on processors so far, of this process and of all that it has started and ended."""
    return sum(
        getattr(resource.getrusage(who), name)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        for name in ("ru_utime", "ru_stime")
    )


def run(way: str, seed: int, parts: Split, folder: Path, options: dict[str, Any]) -> dict:
    """One fit: scores, and how long it took."""
    # One try for all: workers make no more, and neither does `fit` with the usual batches.
    recipe = replace(RECIPES["default"]["classification"], tries=1)
    model = DGTClassifier(random_state=seed, recipe=recipe, **options)
    started, used = time.perf_counter(), processor_seconds()
    if way == "in memory":
        train, held = as_table(parts.X_train, parts.y_train), as_table(parts.X_val, parts.y_val)
        X, X_val = train.drop_columns("label"), held.drop_columns("label")
        model.fit(X, parts.y_train, X_val=X_val, y_val=parts.y_val)
    else:
        workers = int(way.split()[0])
        fit_shards(model, folder / "train", "label", val=folder / "val.parquet", workers=workers)
    seconds, used = time.perf_counter() - started, processor_seconds() - used

    def score(X: np.ndarray, y: np.ndarray) -> float:
        table = as_table(X, y).drop_columns("label")
        return 100.0 * float(np.mean(model.predict(table) == y))

    return {
        "way": way,
        "seed": seed,
        "val": score(parts.X_val, parts.y_val),
        "test": score(parts.X_test, parts.y_test),
        "leaves": model.get_n_leaves(),
        "epochs": model.n_iter_,
        "seconds": seconds,
        "cpu": used,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="covtype")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-depth", type=int, default=8)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--max-epochs", type=int)
    parser.add_argument("--json", help="file to append every run to")
    arguments = parser.parse_args()
    options = {name: getattr(arguments, name) for name in ("max_depth", "batch_size", "max_epochs")}
    parts = load(arguments.set, 0, data_folder())
    found = []
    with tempfile.TemporaryDirectory() as folder:
        write_shards(parts, Path(folder))
        for seed in range(arguments.seeds):
            for way in WAYS:
                found.append(run(way, seed, parts, Path(folder), options))
                line = json.dumps({"set": arguments.set, **options, **found[-1]})
                print(line, flush=True)
                if arguments.json:
                    with open(arguments.json, "a") as stream:
                        stream.write(line + "\n")
    show(arguments.set, options, found)


def show(name: str, options: dict[str, Any], found: list[dict]) -> None:
    load_now = os.getloadavg()[0]
    title = f"{name}, {options}, {os.cpu_count()} cores, load {load_now:.1f}"
    columns = ("val", "test", "leaves", "epochs", "seconds", "cpu")
    table = Table("", *columns, title=title)
    for way in WAYS:
        rows = [row for row in found if row["way"] == way]
        cells = []
        for column in columns:
            values = [row[column] for row in rows]
            cells.append(f"{np.mean(values):.2f} ± {np.std(values):.2f}")
        table.add_row(way, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
