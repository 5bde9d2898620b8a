"""Speed as ratios, both sides measured in turn in one run: `make bench`.

Single seconds on a shared machine mean little; what is compared here runs alternately, and the
median ratio is printed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from tests import reference

from dgtrees.learn import TrainableTree
from dgtrees.tree import ObliqueTree


def side_by_side(
    first: Callable[[], object], second: Callable[[], object], rounds: int = 7, calls: int = 30
):
    """Median seconds of a call of each, and the median ratio, over alternating blocks of calls.

    Blocks, because both run many times in a row in use, and because the first calls of a block
    still share the cores with the other side's idling threads.
    """
    times = np.empty((rounds, 2))
    for i in range(-1, rounds):  # one block more, to warm up
        for j, work in enumerate((first, second)):
            block = []
            for _ in range(calls):
                started = time.perf_counter()
                work()
                block.append(time.perf_counter() - started)
            times[i, j] = np.median(block)
    a, b = np.median(times, axis=0)
    return a, b, float(np.median(times[:, 0] / times[:, 1]))


def training_step(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor):
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()

    return step


def training(table: Table) -> None:
    """One step, batch 128, L = 1, against the dense path matrix; one thread, as training has."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for height, classes, d, goal in ((6, 7, 54, ""), (8, 10, 16, "3x"), (10, 26, 16, "6x")):
        x, y = torch.randn(128, d), torch.randint(classes, (128,))
        dense = training_step(reference.DenseTree(d, classes, height), x, y)
        ours = training_step(TrainableTree(d, classes, height), x, y)
        a, b, ratio = side_by_side(dense, ours)
        table.add_row(
            f"step, h={height} K={classes} d={d}",
            "dense autograd",
            f"{1e3 * a:.2f} ms",
            f"{1e3 * b:.2f} ms",
            f"{ratio:.1f}x",
            goal,
        )


def routing(table: Table) -> None:
    """10,000 rows through a tree of height 8, against evaluating every node with NumPy."""
    rng = np.random.default_rng(0)
    for d, dtype, goal in ((16, "float64", ""), (90, "float64", ""), (784, "float64", "5x"),
                           (784, "float32", "")):  # fmt: skip
        weights, bias = rng.normal(size=(255, d)), rng.normal(size=255)
        tree = ObliqueTree.complete(weights, bias, rng.normal(size=(256, 10)))
        X = rng.normal(size=(10_000, d)).astype(dtype)
        all_weights, all_bias = weights.astype(dtype), bias.astype(dtype)
        a, b, ratio = side_by_side(
            lambda X=X, w=all_weights, c=all_bias: reference.route_all_nodes(X, w, c),
            lambda X=X, tree=tree: tree.apply(X),
            calls=12,
        )
        table.add_row(
            f"route, d={d} {dtype}",
            "NumPy",
            f"{1e6 * a / len(X):.2f} us/row",
            f"{1e6 * b / len(X):.2f} us/row",
            f"{ratio:.1f}x",
            goal,
        )


def imports(table: Table) -> None:
    """`import dgtrees` in a new interpreter, less the interpreter's own start."""

    def start(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    a, b, _ = side_by_side(start("pass"), start("import dgtrees"), rounds=3, calls=3)
    table.add_row("import dgtrees", "bare Python", f"{a:.2f} s", f"{b:.2f} s", "", "0.3 s more")


def main() -> None:
    table = Table(title="Speed, side by side")
    for column in ("what", "against", "theirs", "ours", "ratio", "goal"):
        table.add_column(column, justify="left" if column in ("what", "against") else "right")
    with Console(stderr=True).status("measuring ..."):
        training(table)
        routing(table)
        imports(table)
    Console().print(table)


if __name__ == "__main__":
    main()
