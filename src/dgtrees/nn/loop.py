"""Training a tree on labelled rows: epochs, validation, best weights.

`fit_tree` runs the loop of Algorithm `algo:learntree` for any `Recipe`. It works on tensors that
are already encoded and standardised; turning tables into those is the estimators' work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from dgtrees.errors import StateError
from dgtrees.learn.losses import Loss
from dgtrees.learn.module import TrainableTree
from dgtrees.learn.noise import NoisePool
from dgtrees.learn.objective import evaluate, mean_loss, rank_of, training_loss
from dgtrees.learn.optimizers import OPTIMIZERS, Optimizer
from dgtrees.learn.processes import ALONE, Processes
from dgtrees.learn.quantizers import QUANTIZERS, AnnealedSigmoid
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Feed
from dgtrees.learn.threads import one_thread
from dgtrees.learn.weights import BestWeights, RunningAverage

__all__ = ["Callback", "Run", "TrainingResult", "fit_tree", "make_module", "make_optimizer"]


@dataclass
class TrainingResult:
    """What a training run did: one entry of `history` an epoch."""

    history: dict[str, list[float]] = field(default_factory=dict)
    n_epochs: int = 0
    best_epoch: int = 0
    best_score: float | None = None
    best_rank: tuple[float, ...] = ()
    stopped_early: bool = False


Callback = Callable[[int, int, dict[str, float]], "bool | None"]


def make_module(
    in_features: int,
    out_features: int,
    max_depth: int,
    leaf: str,
    recipe: Recipe,
    generator: torch.Generator | None = None,
) -> TrainableTree:
    """The module a recipe trains."""
    quantizer: Any = recipe.quantizer
    kind = QUANTIZERS[quantizer]
    if issubclass(kind, AnnealedSigmoid):
        quantizer = kind(
            recipe.softmax_scale, recipe.anneal_start, recipe.anneal_stop, recipe.anneal_schedule
        )
    return TrainableTree(
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
    )


def make_optimizer(module: TrainableTree, recipe: Recipe) -> Optimizer:
    """The recipe's optimiser, with leaves in a group of their own."""
    leaves = module.leaf_parameters()
    ids = {id(p) for p in leaves}
    nodes = [p for p in module.parameters() if id(p) not in ids]
    groups: list[dict[str, Any]] = [
        {"params": nodes, "part": "nodes", "weight_decay": recipe.weight_decay},
        {"params": leaves, "part": "leaves", "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    return OPTIMIZERS[recipe.optimizer](groups, recipe.momentum)


def _set_rates(optimizer: Optimizer, recipe: Recipe, node_rate: float, done: float) -> None:
    """Learning rates when `done` (0 to 1) of the steps are made."""
    for group in optimizer.param_groups:
        rate = node_rate if group["part"] == "nodes" else recipe.leaf_learning_rate
        group["lr"] = rate * _schedule(recipe, done)


def _schedule(recipe: Recipe, done: float) -> float:
    """Learning rate as a share of the recipe's, when `done` (0 to 1) of the steps are made."""
    if recipe.schedule == "constant":
        return 1.0
    cycle = (done * (recipe.restarts + 1)) % 1.0
    return 0.5 * (1.0 + math.cos(math.pi * cycle))


@torch.no_grad()
def _add_penalty(module: TrainableTree, recipe: Recipe) -> None:
    """Add the gradients of the L1 and L2 penalties on every layer's weights.

    By hand, because six more autograd nodes a layer cost as much as the whole tree gradient.
    """
    for layer in module.linear_layers():
        weight = layer.weight
        assert weight.grad is not None
        if recipe.l1:
            weight.grad.add_(weight.sign(), alpha=recipe.l1)
        if recipe.l2:
            weight.grad.add_(weight, alpha=2.0 * recipe.l2)


@dataclass
class Run:
    """All that changes while a tree is trained, and with which a training could go on elsewhere.

    `step` counts within the epoch under way, and `loss_sum` is the loss of its rows so far.
    """

    module: TrainableTree
    optimizer: Optimizer
    generator: torch.Generator
    average: RunningAverage
    best: BestWeights
    result: TrainingResult = field(default_factory=TrainingResult)
    step: int = 0
    loss_sum: float = 0.0


def _epoch(
    run: Run,
    forward: nn.Module,
    train: Feed,
    recipe: Recipe,
    loss: Loss,
    noise: NoisePool | None,
    processes: Processes,
    span: tuple[float, float],
) -> float:
    """One pass over the rows, from `span[0]` to `span[1]` of the schedule; the sum of losses."""
    module, optimizer = run.module, run.optimizer
    module.train()
    size = recipe.rows_a_step(len(train))
    steps = train.n_batches(size)
    shape = len(train), module.in_features
    node_rate, noise_size = recipe.node_rate(*shape), recipe.noise(*shape)
    batches = train.batches(size, run.generator, run.result.n_epochs + 1, run.step)
    for step, (batch, count) in enumerate(batches, start=run.step):
        _set_rates(optimizer, recipe, node_rate, span[0] + (span[1] - span[0]) * step / steps)
        x = batch.X
        if noise is not None:
            x = noise.add_to(x, noise_size, recipe.relative_noise)
        objective = mean_loss(loss(forward(x), batch.y), len(batch), batch.weight)
        optimizer.zero_grad()
        objective.backward()
        if recipe.l1 or recipe.l2:
            _add_penalty(module, recipe)
        if recipe.clip:
            torch.nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
        optimizer.step()
        run.average.update()
        run.step, run.loss_sum = step + 1, run.loss_sum + float(objective.detach()) * count
        if run.step < steps:
            processes.after_step(run)
    total = run.loss_sum
    run.step, run.loss_sum = 0, 0.0
    return total


@torch.enable_grad()
def fit_tree(
    module: TrainableTree,
    train: Feed,
    recipe: Recipe,
    *,
    classification: bool,
    validation: Feed | None = None,
    generator: torch.Generator | None = None,
    optimizer: Optimizer | None = None,
    noise: NoisePool | None = None,
    epochs: int | None = None,
    callbacks: tuple[Callback, ...] = (),
    processes: Processes = ALONE,
) -> TrainingResult:
    """Train `module` in place and leave the best weights in it.

    Parameters
    ----------
    module : TrainableTree
    train, validation : Feed
        With validation rows, the weights of the epoch that did best on them are kept.
    recipe : Recipe
    classification : bool
        Targets are class numbers (batch,) rather than values (batch, outputs).
    generator : torch.Generator
        Source of batch order and noise.
    optimizer, noise
        To go on with; new ones otherwise.
    epochs : int
        Overrides the recipe's number of passes.
    callbacks : tuple of callable(epoch, n_epochs, metrics)
        Called after every epoch; training stops where one returns True.
    processes : Processes
        Those that train together, and may go on from where they were broken off.
    """
    loss = training_loss(recipe, classification)
    n_epochs = recipe.n_epochs(len(train)) if epochs is None else epochs
    optimizer = optimizer or make_optimizer(module, recipe)
    generator = generator or torch.Generator().manual_seed(0)
    if recipe.noisy and noise is None:
        noise = NoisePool(generator, recipe.batch_size * module.in_features)
    average, best = RunningAverage(module, recipe.averaging), BestWeights(module)
    run = Run(module, optimizer, generator, average, best)
    result = run.result
    processes.resume(run)
    forward = processes.synchronize(module)
    # Whoever sets a patience wants to stop as soon as it is exhausted.
    select_after = recipe.select_after * n_epochs if recipe.patience is None else 0
    with one_thread():
        while result.n_epochs < n_epochs and not result.stopped_early:
            epoch = result.n_epochs + 1
            module.quantizer.set_progress((epoch - 1) / max(1, n_epochs - 1))
            module.local = epoch > recipe.local_after * n_epochs
            span = ((epoch - 1) / n_epochs, epoch / n_epochs)
            noisy = noise if recipe.noisy else None
            loss_sum = _epoch(run, forward, train, recipe, loss, noisy, processes, span)
            metrics = {"loss": float(processes.sum(np.array(loss_sum))) / len(train)}
            if not math.isfinite(metrics["loss"]):
                raise StateError(
                    f"the loss became {metrics['loss']} in epoch {epoch}: lower learning_rate "
                    "or leaf_learning_rate, or check the scale of the data and of a custom loss"
                )
            if validation is not None:
                with average.in_place():
                    scores = validation.scores(
                        lambda rows: evaluate(module, rows, classification, loss)
                    )
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
            processes.after_epoch(run)
    if best.state is None:
        average.install()
    else:
        module.load_state_dict(best.state)
        result.best_rank = best.rank or ()
        result.best_score = abs(result.best_rank[0])
    module.eval()
    result.best_epoch = best.epoch or result.n_epochs
    return result
