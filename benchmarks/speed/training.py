"""A training step against the plain way to write it, and what an import costs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import torch
from rich.table import Table
from tests import reference_torch

from benchmarks.speed.timing import side_by_side
from dgtrees.nn import TrainableTree

STEPS = ((6, 7, 54, ""), (8, 10, 16, "3x"), (10, 26, 16, "6x"))
"""Height, classes, features, and how many times faster a step has to be."""


def training_step(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> Callable[[], object]:
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()

    return step


def steps(rounds: int) -> list[dict]:
    """One step, batch 128, L = 1, against the dense path matrix; one thread, as training has.

    Processor time of that thread: what other processes take is not counted.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    found = []
    for height, classes, d, goal in STEPS:
        x, y = torch.randn(128, d), torch.randint(classes, (128,))
        dense = training_step(reference_torch.DenseTree(d, classes, height), x, y)
        tree = TrainableTree(d, classes, height, 1, quantizer="sign", softmax_scale=1.0)
        ours = training_step(tree, x, y)
        theirs, mine, ratio = side_by_side(dense, ours, 2 * rounds, time.thread_time)
        what = f"step, h={height} K={classes} d={d}"
        found.append({"what": what, "against": "dense autograd", "theirs_seconds": theirs,
                      "seconds": mine, "ratio": ratio, "goal": goal})  # fmt: skip
    return found


def imports() -> dict:
    """`import dgtrees` in a new interpreter, less the interpreter's own start."""

    def start(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    theirs, mine, _ = side_by_side(start("pass"), start("import dgtrees"), rounds=5)
    return {"what": "import dgtrees", "against": "bare Python", "theirs_seconds": theirs,
            "seconds": mine, "ratio": None, "goal": "0.3 s more"}  # fmt: skip


def table(found: list[dict]) -> Table:
    """What `steps` and `imports` have measured."""
    shown = Table(title="Training, one thread")
    for column in ("what", "against", "theirs", "ours", "ratio", "goal"):
        shown.add_column(column, justify="left" if column in ("what", "against") else "right")
    for row in found:
        times = (f"{1e3 * row[side]:.2f} ms" for side in ("theirs_seconds", "seconds"))
        ratio = f"{row['ratio']:.1f}x" if row["ratio"] else ""
        shown.add_row(row["what"], row["against"], *times, ratio, row["goal"])
    return shown
