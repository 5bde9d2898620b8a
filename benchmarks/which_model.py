"""One tree, a forest or boosting: accuracy against what a model costs once it is trained.

    python -m benchmarks.which_model           measure, seed 0, defaults, one thread
    python -m benchmarks.which_model --draw    the picture of docs/forests.md, from the record

Error on test rows; multiply-adds per row at most; bytes of the model file; microseconds per row, in
a batch of 10,000 and alone (the model's `forest_` or `tree_`, without the encoding of columns).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from benchmarks.tables.models import CONTESTANTS
from benchmarks.tables.protocol import Split
from benchmarks.tables.suites import ROOT, data_folder, list_tables

mpl.use("Agg")
from matplotlib import pyplot as plt

RECORD = ROOT / "benchmarks" / "which_model.csv"
PICTURE = ROOT / "docs" / "comparison" / "which.png"
MODELS = {"dgt": "one tree", "dgt-forest": "forest", "dgt-boosting": "boosting"}
TABLES = ("vehicle", "waveform_40", "phoneme", "kin40k", "537_houses", "elevators")
COSTS = {
    "multiply_adds": "multiply-adds per row, at most",
    "bytes": "bytes of the model file",
    "microseconds": "microseconds per row, in a batch",
}
_BATCH = 10_000


def measure(split: Split, name: str) -> dict[str, Any]:
    """Fit a model to a table and ask what it costs."""
    model = CONTESTANTS[name].make(split.table.task, split.seed).fit(split.X, split.y)
    answer, truth = model.predict(split.X_test), split.y_test.to_numpy()
    wrong = answer != truth if split.table.task == "clf" else None
    error = np.sqrt(np.mean((answer - truth) ** 2)) / truth.std() if wrong is None else wrong.mean()
    fitted = model.tree_ if hasattr(model, "tree_") else model.forest_
    rows = model._rows_to_predict(split.X_test)
    batch = np.ascontiguousarray(rows[np.arange(_BATCH) % len(rows)])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.dgt"))
        size = Path(folder, "model.dgt").stat().st_size
    return {
        "table": split.table.name,
        "model": name,
        "error": round(float(error), 5),
        "multiply_adds": fitted.flops,
        "bytes": size,
        "microseconds": _seconds(lambda: fitted.predict(batch, n_threads=1)) / _BATCH * 1e6,
        "microseconds_alone": _seconds(lambda: [fitted.predict_row(x) for x in rows[:100]]) * 1e4,
    }


def _seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the least of five times, after one that packs what prediction reads."""
    work()
    found = []
    for _ in range(5):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def draw(found: pd.DataFrame, path: Path) -> None:
    """Error over that of one tree against every cost, a line per table."""
    figure, axes = plt.subplots(1, len(COSTS), figsize=(11, 4.2), sharey=True)
    tables = list(dict.fromkeys(found["table"]))
    for ax, (cost, title) in zip(axes, COSTS.items(), strict=True):
        for number, table in enumerate(tables):
            part = found[found["table"] == table].set_index("model").loc[list(MODELS)]
            share = part["error"] / part["error"].iloc[0]
            ax.plot(part[cost], share, color=f"C{number}", lw=1, alpha=0.6, label=table)
            for marker, x, y in zip("osD", part[cost], share, strict=True):
                ax.plot(x, y, marker, color=f"C{number}", ms=7)
        ax.set(xscale="log", xlabel=title)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("test error over that of one tree")
    kinds = [
        plt.Line2D([], [], color="0.3", marker=marker, ls="", label=title)
        for marker, title in zip("osD", MODELS.values(), strict=True)
    ]
    axes[0].legend(handles=kinds, loc="lower left", fontsize=9)
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the program's version, the same record gives the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Measure, or draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true")
    if not parser.parse_args().draw:
        known = {table.name: table for table in list_tables("tables", data_folder())}
        splits = [Split.of(known[name], 0) for name in TABLES]
        lines = [measure(split, model) for split in splits for model in MODELS]
        with RECORD.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            for line in lines:
                writer.writerow({k: f"{v:.3f}" if k[:3] == "mic" else v for k, v in line.items()})
    draw(pd.read_csv(RECORD), PICTURE)


if __name__ == "__main__":
    main()
