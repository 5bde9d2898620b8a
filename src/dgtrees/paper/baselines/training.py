"""The torch side of the baselines: standardised tensors, one loop of epochs, the weights to keep.

Simpler than `nn.loop.fit_tree`, on purpose: baselines are trained as their authors did, without
what the tree's own recipe adds (noise, averaging, several tries).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from dgtrees.errors import StateError
from dgtrees.learn.standard import Standard
from dgtrees.nn.tensor_losses import LOSSES
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.torch_threads import one_torch_thread
from dgtrees.nn.validation import BestWeights, evaluate
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BaselineNetwork", "Run", "Standardiser", "run"]

_MIN_BATCHES = 12
"""Steps per pass at least, down to batches of 16: a hundred passes of one step teach little."""


class BaselineNetwork(Protocol):
    """A module that softens and hardens as training goes on."""

    max_depth: int

    def set_progress(self, fraction: float) -> None:
        """Tell it how much of training is done, 0 to 1."""

    def state_dict(self) -> dict[str, Any]: ...  # noqa: D102

    def parameters(self) -> Any: ...  # noqa: D102


@dataclass
class Run:
    """What a training run did; one entry of `history` an epoch."""

    history: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int = 0


class Standardiser(Standard):
    """Rows as tensors, standardised; and the way back."""

    def rows(self, examples: Examples) -> TensorRows:
        """Tensors to train or validate with."""
        X = torch.from_numpy(self.inputs(examples.X))
        if self.n_classes:
            y = torch.from_numpy(np.asarray(examples.y, dtype=np.int64))
        else:
            y = torch.from_numpy(self.targets(examples).astype(np.float32))
        weight = examples.weight / examples.weight.mean()
        if np.all(weight == weight[0]):
            return TensorRows(X, y)
        return TensorRows(X, y, torch.from_numpy(weight.astype(np.float32)))

    def unscale(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree on standardised rows as one on the rows themselves."""
        return super().unscale(self.without_constants(tree))


@torch.enable_grad()
def run(
    network: BaselineNetwork,
    optimizer: torch.optim.Optimizer,
    schedule: Any,
    train: TensorRows,
    validation: TensorRows | None,
    *,
    classification: bool,
    epochs: int,
    batch_size: int,
    keep_best: bool,
    generator: torch.Generator,
    callbacks: tuple[Callable, ...] = (),
) -> Run:
    """Train in place; with validation rows and `keep_best`, leave the best epoch's weights.

    Validation is done in evaluation mode: by the hard tree, where the baseline ends in one.
    """
    module = cast(nn.Module, network)
    loss = LOSSES["cross_entropy" if classification else "squared"]
    size = max(1, min(batch_size, max(16, len(train) // _MIN_BATCHES)))
    result, best = Run(), BestWeights(module)
    with one_torch_thread():
        for epoch in range(1, epochs + 1):
            network.set_progress((epoch - 1) / max(1, epochs - 1))
            module.train()
            total = torch.zeros(())
            for rows in torch.randperm(len(train), generator=generator).split(size):
                losses = loss(module(train.X[rows]), train.y[rows])
                if train.weight is not None:
                    losses = losses * train.weight[rows]
                objective = losses.mean()
                optimizer.zero_grad(set_to_none=True)
                objective.backward()
                optimizer.step()
                total += objective.detach() * len(rows)
            if schedule is not None:
                schedule.step()
            metrics = {"loss": float(total) / len(train)}
            if not math.isfinite(metrics["loss"]):
                raise StateError(
                    f"the loss became {metrics['loss']} in epoch {epoch}: lower learning_rate"
                )
            if validation is not None:
                scores = evaluate(module, validation, classification, loss)
                metrics |= {f"val_{name}": value for name, value in scores.items()}
                if keep_best:
                    best.offer(_rank(metrics), epoch)
            for name, value in metrics.items():
                result.history.setdefault(name, []).append(value)
            for callback in callbacks:
                callback(epoch, epochs, metrics)
    if best.state is not None:
        module.load_state_dict(best.state)
    module.eval()
    result.best_epoch = best.epoch or epochs
    return result


def _rank(metrics: dict[str, float]) -> tuple[float, ...]:
    if "val_accuracy" in metrics:
        return metrics["val_accuracy"], -metrics["val_loss"]
    return (-metrics["val_rmse"],)


def make_linear(d: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer with weights and biases within 1 / sqrt(d) of 0, from our own seed."""
    layer = nn.utils.skip_init(nn.Linear, d, outputs)
    bound = d**-0.5
    for parameter in (layer.weight, layer.bias):
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return cast(nn.Linear, layer)


def draw_mask(shape: tuple[int, ...], dropped: float, generator: torch.Generator) -> Tensor:
    """Random zeros for the dropped share, and 1 / (1 - share) elsewhere."""
    return (torch.rand(shape, generator=generator) >= dropped).float() / (1.0 - dropped)
