"""What validation measures, and the weights of the epoch that did best."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from dgtrees.nn.tensor_losses import Loss, mean_loss
from dgtrees.nn.tensor_rows import TensorRows

__all__ = ["BestWeights", "evaluate"]

# Rows evaluated at once: a tree of height 16 has 256 MB of activations for as many.
_CHUNK = 1024


@torch.no_grad()
def evaluate(
    module: nn.Module, rows: TensorRows, classification: bool, loss: Loss
) -> dict[str, float]:
    """Hard predictions on rows: mean loss, and accuracy or root mean squared error."""
    module.eval()
    prediction = torch.cat([module(x) for x in rows.X.split(_CHUNK)])
    count, weight = len(rows), rows.weight
    result = {"loss": float(mean_loss(loss(prediction, rows.y), count, weight))}
    if classification:
        hit = (prediction.argmax(dim=1) == rows.y).float()
        result["accuracy"] = float(mean_loss(hit, count, weight))
    else:
        error = (prediction - rows.y).square()
        result["rmse"] = float(mean_loss(error, count, weight)) ** 0.5
    return result


class BestWeights:
    """Keeps a copy of the weights that scored best; of equal scores the later one."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.rank: tuple[float, ...] = ()
        self.state: dict[str, Tensor] | None = None
        self.epoch = 0

    def offer(self, rank: tuple[float, ...], epoch: int) -> None:
        """Keep the present weights if `rank`, compared like a tuple, is the highest so far."""
        if self.state is None or rank >= self.rank:
            self.rank, self.epoch = rank, epoch
            self.state = copy.deepcopy(self.module.state_dict())
