"""Ratios of training and prediction against others: `python -m benchmarks.speed --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from benchmarks.speed import prediction, training
from dgtrees.tree.inputs import available_threads

PACKAGES = ("numpy", "numba", "scikit-learn", "xgboost-cpu", "lightgbm", "onnxruntime", "torch")

FIRST = (
    "Training is also measured in the checkout that the environment variable DGTREES_FIRST names, "
    "in turns with this one, by the interpreter .venv/bin/python of that folder."
)


def machine() -> dict:
    """What the figures were measured with."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":")[1].strip() if names else cpu
    return {
        "cpu": cpu,
        "cores": available_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def write(results: dict, path: Path | None) -> None:
    """Keep what has been measured so far."""
    if path:
        path.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__, epilog=FIRST
    )
    parser.add_argument("--only", choices=("training", "prediction"), help="leave the other out")
    parser.add_argument(
        "--parts", choices=training.PARTS, nargs="+", default=[*training.PARTS], help="of training"
    )
    parser.add_argument("--features", type=int, nargs="+", default=[16, 90, 784])
    parser.add_argument("--trees", type=int, nargs="+", default=[1, 30])
    parser.add_argument("--rounds", type=int, default=9, help="blocks of calls for each side")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    # Tables are wider than what rich takes a file to be.
    console = Console(width=None if sys.stdout.isatty() else 150)
    results: dict = {"machine": machine()}
    with Console(stderr=True).status("measuring ...") as status:
        if options.only != "training":
            results["prediction"] = []
            for result in prediction.measured(
                options.features, options.trees, options.rounds, status.update
            ):
                results["prediction"].append(result)
                write(results, options.json)
        if options.only != "prediction":
            results["training"] = {}
            for result in training.measured(options.parts, options.rounds, status.update):
                results["training"] |= result
                write(results, options.json)
    facts = results["machine"]
    load = "unknown" if facts["load"] is None else f"{facts['load']:.1f}"
    console.print(f"{facts['cpu']}, {facts['cores']} cores, load {load} at the start")
    if found := results.get("prediction"):
        for form in prediction.FORMS:
            if form in found[0]:
                console.print(prediction.times_table(found, form))
        console.print(prediction.memory_table(found), prediction.goals_table(found))
    for shown in training.tables(results.get("training", {})):
        console.print(shown)
    write(results, options.json)


if __name__ == "__main__":
    main()
