"""Training networks that contain trees: each part at its own rate, decisions steepened on the way.

Owns the loop and the optimiser's groups, for networks and batches of the user's own. What is learnt
from a table is trained by `dgtrees.learn`, which is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

import torch
from torch import Tensor, nn

from dgtrees.errors import StateError
from dgtrees.learn.result import Callback
from dgtrees.nn.layer import TrainableTree

__all__ = ["fit_network", "parameter_groups", "set_progress"]


def parameter_groups(
    network: nn.Module, learning_rate: float = 3e-3, leaf_learning_rate: float = 5e-2
) -> list[dict[str, Any]]:
    """Parameters as torch's optimisers take them: the leaves of all trees, and all others.

    Leaves learn from the rows that reach them only, so that they want a larger rate. They have no
    weight decay, which would pull a leaf of few rows to 0.

    >>> tree = TrainableTree(in_features=4, out_features=2, max_depth=3)
    >>> network = nn.Sequential(nn.Linear(9, 4), nn.BatchNorm1d(4), tree)
    >>> optimizer = torch.optim.AdamW(parameter_groups(network))
    >>> [group["lr"] for group in optimizer.param_groups]
    [0.003, 0.05]
    """
    leaves = [p for tree in _trees(network) for p in tree.leaf_parameters()]
    apart = {id(p) for p in leaves}
    others = [p for p in network.parameters() if id(p) not in apart]
    return [
        {"params": [p for p in others if p.requires_grad], "lr": learning_rate},
        {
            "params": [p for p in leaves if p.requires_grad],
            "lr": leaf_learning_rate,
            "weight_decay": 0.0,
        },
    ]


def set_progress(network: nn.Module, fraction: float) -> None:
    """Tell all trees of a network how much of the training is done, 0 to 1."""
    for tree in _trees(network):
        tree.set_progress(fraction)


def fit_network(
    network: nn.Module,
    batches: Iterable[Sequence[Tensor]],
    loss: Callable[..., Tensor],
    *,
    epochs: int,
    learning_rate: float = 3e-3,
    leaf_learning_rate: float = 5e-2,
    callbacks: Sequence[Callback] = (),
) -> list[float]:
    """Train a network that contains a tree, by AdamW with rates that fall along a cosine.

    Parameters
    ----------
    network : nn.Module
        With one `TrainableTree` at least, and inputs of about unit size for it. Parameters that do
        not require a gradient stay as they are.
    batches : iterable of (inputs, target, ...)
        A DataLoader, a list, or an object of your own; gone through once per epoch. Tensors are
        moved to the network's device.
    loss : callable(output, target, ...)
        One number for the whole batch, so that it may compare rows with each other.
    epochs : int
    learning_rate, leaf_learning_rate : float
        At the beginning, of the trees' leaves and of all else.
    callbacks : sequence of callable(epoch, n_epochs, metrics)
        Called after every epoch, the first being 1, with the mean loss as metrics["loss"]; training
        stops where one returns True. The network may be put into evaluation mode there.

    Returns
    -------
    list of float
        Mean loss of every epoch. The network is left in evaluation mode.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(400, 9)
    >>> y = (X[:, 0] * X[:, 1] > 0).long()
    >>> network = nn.Sequential(nn.Linear(9, 4), nn.BatchNorm1d(4), TrainableTree(4, 2, 3))
    >>> batches = list(zip(X.split(100), y.split(100)))
    >>> losses = fit_network(network, batches, nn.functional.cross_entropy, epochs=30)
    >>> bool((network(X).argmax(dim=1) == y).float().mean() > 0.9)
    True
    """
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    if not _trees(network):
        raise ValueError(
            f"network must contain a TrainableTree, got {type(network).__name__} without one: add "
            "one as its last layer"
        )
    optimizer = torch.optim.AdamW(parameter_groups(network, learning_rate, leaf_learning_rate))
    rates = [group["lr"] for group in optimizer.param_groups]
    device = next(network.parameters()).device
    history: list[float] = []
    for epoch in range(epochs):
        network.train()
        total, rows = 0.0, 0
        for step, batch in enumerate(batches):
            inside = step / len(batches) if isinstance(batches, Sized) else 0.0
            done = (epoch + min(inside, 1.0)) / epochs
            set_progress(network, done)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * done))
            inputs, *targets = (part.to(device) for part in batch)
            objective = loss(network(inputs), *targets)
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
            total, rows = total + float(objective.detach()) * len(inputs), rows + len(inputs)
        if not rows:
            raise ValueError(
                f"batches must have rows in every epoch, got none in epoch {epoch + 1}: give a "
                "list or a DataLoader, which can be gone through again, not a generator"
            )
        history.append(total / rows)
        if not math.isfinite(history[-1]):
            raise StateError(
                f"the loss became {history[-1]} in epoch {epoch + 1}: lower learning_rate or "
                "leaf_learning_rate, or check the scale of the inputs and the loss"
            )
        stop = False
        for callback in callbacks:  # all of them, even if the first one asks to stop
            stop |= bool(callback(epoch + 1, epochs, {"loss": history[-1]}))
        if stop:
            break
    network.eval()
    return history


def _trees(network: nn.Module) -> list[TrainableTree]:
    return [module for module in network.modules() if isinstance(module, TrainableTree)]
