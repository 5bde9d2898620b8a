"""The torch layer against the plain way to write a tree in torch."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from rich.table import Table
from tests import reference_torch

from benchmarks.speed.timing import side_by_side
from dgtrees.nn import TrainableTree

__all__ = ["steps", "table"]

STEPS = ((6, 7, 54), (8, 10, 16), (10, 26, 16))
"""Height, classes, features.

Without goals. Those of 3 and 6 times at heights 8 and 10 were for the layer that trained every
estimator; estimators are trained by the compiled engine now, which has goals of its own
(`training`), and the layer is for trees inside networks. Its step has fixed costs in torch, about
300 us here against 210 of the dense way, whose path matrix costs nodes x leaves a row: the layer is
the faster way from height 8 on, level at 7, and no kernel would change that below.
"""


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
    """One step, batch 128, L = 1, against the dense path matrix; one thread.

    Processor time of that thread: what other processes take is not counted.
    """
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = []
    for height, classes, d in STEPS:
        x, y = torch.randn(128, d), torch.randint(classes, (128,))
        dense = training_step(reference_torch.DenseTree(d, classes, height), x, y)
        tree = TrainableTree(d, classes, height, 1, quantizer="sign", softmax_scale=1.0)
        ours = training_step(tree, x, y)
        theirs, mine, ratio = side_by_side(dense, ours, 2 * rounds, time.thread_time)
        what = f"h={height} K={classes} d={d}"
        found.append({"what": what, "dense_seconds": theirs, "seconds": mine, "ratio": ratio})
    torch.set_num_threads(threads)
    return found


def table(found: list[dict]) -> Table:
    """What `steps` has measured."""
    shown = Table(title="TrainableTree, one step of 128 rows in torch: CPU us")
    for column in ("", "dense autograd", "TrainableTree", "faster by"):
        shown.add_column(column, justify="right" if column else "left")
    for row in found:
        times = (f"{1e6 * row[side]:.0f}" for side in ("dense_seconds", "seconds"))
        shown.add_row(row["what"], *times, f"{row['ratio']:.1f}x")
    return shown
