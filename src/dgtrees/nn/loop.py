"""Training a layer by torch: epochs, validation, best weights.

`fit_tree` runs the loop of Algorithm `algo:learntree` for any `Recipe`, on rows that are already
encoded and standardised. Trees are trained by the compiled engine of `learn`; this loop is for the
quantizers that it lacks, "lsq" and "annealed".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from dgtrees.errors import StateError
from dgtrees.learn.objective import rank_of
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.result import Callback, TrainingResult
from dgtrees.nn.layer import TrainableTree
from dgtrees.nn.quantizers import QUANTIZERS, AnnealedSigmoid
from dgtrees.nn.tensor_losses import Loss, mean_loss, training_loss
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.torch_threads import one_torch_thread
from dgtrees.nn.validation import BestWeights, evaluate

__all__ = ["fit_tree", "make_layer", "make_optimizer"]


def make_layer(
    in_features: int,
    out_features: int,
    max_depth: int,
    leaf: str,
    recipe: Recipe,
    generator: torch.Generator | None = None,
) -> TrainableTree:
    """The layer a recipe trains."""
    quantizer: Any = recipe.quantizer
    kind = QUANTIZERS[quantizer]
    if issubclass(kind, AnnealedSigmoid):
        quantizer = kind(
            recipe.softmax_scale, recipe.anneal_start, recipe.anneal_stop, recipe.anneal_schedule
        )
    layer = TrainableTree(
        in_features,
        out_features,
        max_depth,
        n_layers=recipe.n_layers,
        hidden=recipe.hidden,
        leaf=leaf,
        path=recipe.path,
        quantizer=quantizer,
        softmax_scale=recipe.softmax_scale,
        generator=generator,
        layer_biases=recipe.layer_biases,
        output_bias=recipe.output_bias,
    )
    if recipe.start == "uniform":
        bound = len(layer.leaf_values) ** -0.5
        torch.nn.init.uniform_(layer.leaf_values, -bound, bound, generator=generator)
    return layer


def make_optimizer(layer: TrainableTree, recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimiser, with leaves in a group of their own."""
    leaves, nodes = layer.leaf_parameters(), layer.node_parameters()
    groups: list[dict[str, Any]] = [
        {"params": leaves, "part": "leaves", "weight_decay": 0.0},
        {"params": nodes, "part": "nodes", "weight_decay": recipe.weight_decay},
    ]
    rate = recipe.learning_rate  # until `_set_rates`, before every step
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=rate, eps=recipe.epsilon, fused=True)
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=recipe.momentum)
    return torch.optim.RMSprop(groups, lr=rate, momentum=recipe.momentum, eps=recipe.epsilon)


def _set_rates(
    optimizer: torch.optim.Optimizer, recipe: Recipe, node_rate: float, done: float
) -> None:
    """Learning rates when `done` (0 to 1) of the steps are made."""
    for group in optimizer.param_groups:
        rate = node_rate if group["part"] == "nodes" else recipe.leaf_learning_rate
        group["lr"] = rate * float(recipe.rate_factor(np.asarray(done)))


@torch.no_grad()
def _add_penalty(layer: TrainableTree, recipe: Recipe) -> None:
    """Add the gradients of the L1 and L2 penalties on the weights of every linear layer."""
    for linear in layer.linear_layers():
        for part in (linear.weight, linear.bias if recipe.penalize_biases else None):
            if part is not None and part.grad is not None:
                part.grad.add_(part.sign(), alpha=recipe.l1)
                part.grad.add_(part, alpha=2.0 * recipe.l2)


def _add_noise(x: Tensor, size: float, relative: float, generator: torch.Generator) -> Tensor:
    """X plus Gaussian noise of standard deviation `size`, and of `relative` times x."""
    # Two independent noises add up in their squares.
    spread = ((relative * x).square() + size**2).sqrt()
    return x + spread * torch.randn(x.shape, generator=generator)


def _running_average(layer: TrainableTree, share: float) -> AveragedModel:
    """Average of the parameters over about the last `share` of all steps so far.

    The window grows with the number of steps, so the average forgets the start by itself and has
    no decay rate to tune (polynomial-decay averaging, Shamir and Zhang 2013). A share of 0 makes it
    the parameters themselves.
    """

    def update(average: Any, present: Any, steps: Any) -> None:
        torch._foreach_lerp_(average, present, 1.0 / (1.0 + share * (int(steps) + 1)))

    return AveragedModel(layer, multi_avg_fn=torch.no_grad()(update))


def _epoch(
    layer: TrainableTree,
    average: AveragedModel,
    optimizer: torch.optim.Optimizer,
    train: TensorRows,
    recipe: Recipe,
    loss: Loss,
    generator: torch.Generator,
    span: tuple[float, float],
) -> float:
    """One pass over the rows, from `span[0]` to `span[1]` of the schedule; the mean loss."""
    layer.train()
    shape = len(train), layer.in_features
    node_rate, noise_size = recipe.node_rate(*shape), recipe.noise(*shape)
    batches = torch.randperm(len(train), generator=generator).split(recipe.rows_a_step(len(train)))
    total = 0.0
    for step, rows in enumerate(batches):
        done = span[0] + (span[1] - span[0]) * step / len(batches)
        _set_rates(optimizer, recipe, node_rate, done)
        batch = train.take(rows)
        x = batch.X
        if recipe.noisy:
            x = _add_noise(x, noise_size, recipe.relative_noise, generator)
        objective = mean_loss(loss(layer(x), batch.y), len(batch), batch.weight)
        optimizer.zero_grad()
        objective.backward()
        if recipe.l1 or recipe.l2:
            _add_penalty(layer, recipe)
        if recipe.clip:
            torch.nn.utils.clip_grad_norm_(layer.parameters(), recipe.clip)
        optimizer.step()
        average.update_parameters(layer)
        total += float(objective.detach()) * len(batch)
    return total / len(train)


@torch.enable_grad()
def fit_tree(
    layer: TrainableTree,
    train: TensorRows,
    recipe: Recipe,
    *,
    classification: bool,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    validation: TensorRows | None = None,
    epochs: int | None = None,
    callbacks: tuple[Callback, ...] = (),
) -> TrainingResult:
    """Train `layer` in place and leave the best weights in it.

    Parameters
    ----------
    layer : TrainableTree
    train, validation : TensorRows
        With validation rows, the weights of the epoch that did best on them are kept.
    recipe : Recipe
    classification : bool
        Targets are class numbers (batch,) rather than values (batch, outputs).
    optimizer : torch.optim.Optimizer
        As `make_optimizer` makes it.
    generator : torch.Generator
        Source of batch order and noise.
    epochs : int
        Overrides the recipe's number of passes.
    callbacks : tuple of callable(epoch, n_epochs, metrics)
        Called after every epoch; training stops where one returns True.
    """
    loss = training_loss(recipe, classification)
    n_epochs = recipe.n_epochs(len(train)) if epochs is None else epochs
    average = _running_average(layer, recipe.averaging)
    best, result = BestWeights(average.module), TrainingResult()
    # Whoever sets a patience wants to stop as soon as it is exhausted.
    select_after = recipe.select_after * n_epochs if recipe.patience is None else 0
    with one_torch_thread():
        while result.n_epochs < n_epochs and not result.stopped_early:
            epoch = result.n_epochs + 1
            layer.set_progress((epoch - 1) / max(1, n_epochs - 1))
            layer.local = epoch > recipe.local_after * n_epochs
            span = ((epoch - 1) / n_epochs, epoch / n_epochs)
            mean = _epoch(layer, average, optimizer, train, recipe, loss, generator, span)
            if not math.isfinite(mean):
                raise StateError(
                    f"the loss became {mean} in epoch {epoch}: lower learning_rate or "
                    "leaf_learning_rate, or check the scale of the data and of a custom loss"
                )
            metrics = {"loss": mean}
            if validation is not None:
                scores = evaluate(average.module, validation, classification, loss)
                metrics |= {f"val_{name}": value for name, value in scores.items()}
                if epoch > select_after:
                    best.offer(rank_of(metrics, recipe, classification), epoch)
            for name, value in metrics.items():
                result.history.setdefault(name, []).append(value)
            result.n_epochs = epoch
            for callback in callbacks:  # all of them, even if the first one asks to stop
                result.stopped_early |= bool(callback(epoch, n_epochs, metrics))
            if validation is not None and recipe.patience is not None:
                result.stopped_early |= epoch - best.epoch >= recipe.patience
    layer.load_state_dict(best.state or average.module.state_dict())
    layer.eval()
    if best.rank:
        result.best_rank, result.best_score = best.rank, abs(best.rank[0])
    result.best_epoch = best.epoch or result.n_epochs
    return result
