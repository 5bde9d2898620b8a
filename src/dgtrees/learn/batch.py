"""Training a tree on labelled rows: epochs, validation, best weights.

`fit_tree` runs the loop of Algorithm `algo:learntree` for any `Recipe`. It works on tensors that
are already encoded and standardised; turning tables into those is the estimators' work.

Training uses one thread: batches are too small for a second one to pay, and the result is then
the same on every machine and under every thread setting.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dgtrees.errors import StateError
from dgtrees.learn.keep import BestWeights, RunningAverage
from dgtrees.learn.losses import LOSSES, Loss, cross_entropy
from dgtrees.learn.module import TrainableTree
from dgtrees.learn.quantizers import AnnealedSigmoid
from dgtrees.learn.recipe import Recipe

__all__ = ["Rows", "TrainingResult", "fit_tree", "make_module", "make_optimizer", "one_thread"]

# Drawing fresh normal numbers would cost more than the step for wide rows; a window into a fixed
# pool, moved at random every step, does the same work for the price of an addition.
_NOISE_POOL = 1 << 21

# Activations of this many nodes, all rows together, are held at once when rows are evaluated.
_EVALUATED_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Rows:
    """Encoded rows with their targets and weights (mean weight 1)."""

    X: Tensor
    y: Tensor
    weight: Tensor | None = None

    def __len__(self) -> int:
        return self.X.shape[0]


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


class _OneThread:
    """torch on one thread while any training runs; the caller's setting again after the last."""

    lock = threading.Lock()
    running = 0
    before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, and give the caller's setting back afterwards."""
    with _OneThread.lock:
        if _OneThread.running == 0:
            _OneThread.before = torch.get_num_threads()
            torch.set_num_threads(1)
        _OneThread.running += 1
    try:
        yield
    finally:
        with _OneThread.lock:
            _OneThread.running -= 1
            if _OneThread.running == 0:
                torch.set_num_threads(_OneThread.before)


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
    if quantizer == "annealed":
        quantizer = AnnealedSigmoid(
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


def make_optimizer(module: TrainableTree, recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimiser, with leaves in a group of their own."""
    leaves = module.leaf_parameters()
    ids = {id(p) for p in leaves}
    nodes = [p for p in module.parameters() if id(p) not in ids]
    groups: list[dict[str, Any]] = [
        {"params": nodes, "part": "nodes", "weight_decay": recipe.weight_decay},
        {"params": leaves, "part": "leaves", "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    optimizer: torch.optim.Optimizer
    if recipe.optimizer == "rmsprop":
        optimizer = torch.optim.RMSprop(groups, momentum=recipe.momentum)
    elif recipe.optimizer == "sgd":
        optimizer = torch.optim.SGD(groups, momentum=recipe.momentum)
    else:
        optimizer = torch.optim.AdamW(groups, fused=True)
    _set_rates(optimizer, module, recipe, 0.0)
    return optimizer


def _set_rates(
    optimizer: torch.optim.Optimizer, module: TrainableTree, recipe: Recipe, done: float
) -> None:
    """Learning rates when `done` (0 to 1) of the steps are made."""
    for group in optimizer.param_groups:
        rate = recipe.leaf_learning_rate
        if group["part"] == "nodes":
            rate = recipe.node_rate(module.in_features)
        group["lr"] = rate * _schedule(recipe, done)


def _schedule(recipe: Recipe, done: float) -> float:
    """Learning rate as a share of the recipe's, when `done` (0 to 1) of the steps are made."""
    if recipe.schedule == "constant":
        return 1.0
    cycle = (done * (recipe.restarts + 1)) % 1.0
    return 0.5 * (1.0 + math.cos(math.pi * cycle))


def _training_loss(recipe: Recipe, classification: bool) -> Loss:
    loss = recipe.loss or ("cross_entropy" if classification else "squared")
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss must be a callable or one of {', '.join(LOSSES)}, got {loss!r}")
    if (loss == "cross_entropy") != classification:
        task = "classification" if classification else "regression"
        raise ValueError(f"loss {loss!r} is not for {task}: choose another or give a callable")
    if loss == "cross_entropy" and recipe.label_smoothing:
        return lambda prediction, y: cross_entropy(prediction, y, recipe.label_smoothing)
    return LOSSES[loss]


def _mean_loss(losses: Tensor, rows: int, weight: Tensor | None) -> Tensor:
    """Weighted mean of losses (rows,), (rows, outputs), or of one number for all rows."""
    if losses.ndim == 0:
        if weight is not None:
            raise ValueError(
                "a loss must return one number a row where rows have weights (or repeat), got one "
                "number for the batch: leave out its final mean()"
            )
        return losses
    if losses.ndim == 2:
        losses = losses.mean(dim=1)
    if losses.shape != (rows,):
        raise ValueError(
            f"a loss must return one number a row, ({rows},), got shape {tuple(losses.shape)}"
        )
    return losses.mean() if weight is None else (losses * weight).mean()


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


@torch.no_grad()
def evaluate(
    module: TrainableTree, rows: Rows, classification: bool, loss: Loss
) -> dict[str, float]:
    """Hard predictions on rows: mean loss, and accuracy or root mean squared error."""
    module.eval()
    chunk = max(1, _EVALUATED_AT_ONCE >> module.max_depth)
    prediction = torch.cat([module(x) for x in rows.X.split(chunk)])
    count, weight = len(rows), rows.weight
    result = {"loss": float(_mean_loss(loss(prediction, rows.y), count, weight))}
    if classification:
        hit = (prediction.argmax(dim=1) == rows.y).float()
        result["accuracy"] = float(_mean_loss(hit, count, weight))
    else:
        error = (prediction - rows.y).square()
        result["rmse"] = float(_mean_loss(error, count, weight)) ** 0.5
    return result


def _rank(metrics: dict[str, float], recipe: Recipe, classification: bool) -> tuple[float, ...]:
    """What the best epoch is best in: accuracy (then loss), RMSE, or a loss of its own."""
    if recipe.loss not in (None, "squared", "cross_entropy"):
        return (-metrics["val_loss"],)
    if classification:
        return (metrics["val_accuracy"], -metrics["val_loss"])
    return (-metrics["val_rmse"],)


class NoisePool:
    """Gaussian noise of unit size for batches of any shape, from one seeded pool."""

    def __init__(self, generator: torch.Generator, largest: int) -> None:
        self.generator = generator
        self.pool = torch.randn(max(_NOISE_POOL, 2 * largest), generator=generator)

    def add_to(self, x: Tensor, size: float) -> Tensor:
        """X plus noise of standard deviation `size`."""
        span = len(self.pool) - x.numel()
        start = int(torch.randint(span, (1,), generator=self.generator))
        return torch.add(x, self.pool[start : start + x.numel()].view_as(x), alpha=size)


def _epoch(
    module: TrainableTree,
    train: Rows,
    recipe: Recipe,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    noise: NoisePool | None,
    average: RunningAverage,
    span: tuple[float, float],
) -> float:
    """One pass over the rows, from `span[0]` to `span[1]` of the schedule; the mean loss."""
    module.train()
    total = 0.0
    batches = torch.randperm(len(train), generator=generator).split(recipe.rows_a_step(len(train)))
    for step, rows in enumerate(batches):
        _set_rates(optimizer, module, recipe, span[0] + (span[1] - span[0]) * step / len(batches))
        x = train.X[rows]
        if noise is not None:
            x = noise.add_to(x, recipe.noise(module.in_features))
        weight = None if train.weight is None else train.weight[rows]
        objective = _mean_loss(loss(module(x), train.y[rows]), len(rows), weight)
        optimizer.zero_grad(set_to_none=True)
        objective.backward()
        if recipe.l1 or recipe.l2:
            _add_penalty(module, recipe)
        if recipe.clip:
            torch.nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
        optimizer.step()
        average.update()
        total += float(objective.detach()) * len(rows)
    return total / len(train)


@torch.enable_grad()
def fit_tree(
    module: TrainableTree,
    train: Rows,
    recipe: Recipe,
    *,
    classification: bool,
    validation: Rows | None = None,
    generator: torch.Generator | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    noise: NoisePool | None = None,
    epochs: int | None = None,
    callbacks: tuple[Callback, ...] = (),
) -> TrainingResult:
    """Train `module` in place and leave the best weights in it.

    Parameters
    ----------
    module : TrainableTree
    train, validation : Rows
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
    """
    loss = _training_loss(recipe, classification)
    n_epochs = recipe.n_epochs(len(train)) if epochs is None else epochs
    optimizer = optimizer or make_optimizer(module, recipe)
    generator = generator or torch.Generator().manual_seed(0)
    if recipe.input_noise and noise is None:
        noise = NoisePool(generator, recipe.batch_size * train.X.shape[1])
    result = TrainingResult()
    best = BestWeights(module)
    average = RunningAverage(module, recipe.averaging)
    # Whoever sets a patience wants to stop as soon as it is exhausted.
    select_after = recipe.select_after * n_epochs if recipe.patience is None else 0
    with one_thread():
        for epoch in range(1, n_epochs + 1):
            module.quantizer.set_progress((epoch - 1) / max(1, n_epochs - 1))
            span = ((epoch - 1) / n_epochs, epoch / n_epochs)
            metrics = {
                "loss": _epoch(
                    module,
                    train,
                    recipe,
                    loss,
                    optimizer,
                    generator,
                    noise if recipe.input_noise else None,
                    average,
                    span,
                )
            }
            if not math.isfinite(metrics["loss"]):
                raise StateError(
                    f"the loss became {metrics['loss']} in epoch {epoch}: lower learning_rate "
                    "or leaf_learning_rate, or check the scale of the data and of a custom loss"
                )
            if validation is not None:
                with average.in_place():
                    scores = evaluate(module, validation, classification, loss)
                    metrics |= {f"val_{name}": value for name, value in scores.items()}
                    if epoch > select_after:
                        best.offer(_rank(metrics, recipe, classification), epoch)
            for name, value in metrics.items():
                result.history.setdefault(name, []).append(value)
            result.n_epochs = epoch
            for callback in callbacks:  # all of them, even if the first one asks to stop
                result.stopped_early |= bool(callback(epoch, n_epochs, metrics))
            if validation is not None and recipe.patience is not None:
                result.stopped_early |= epoch - best.epoch >= recipe.patience
            if result.stopped_early:
                break
    if best.state is None:
        average.install()
    else:
        module.load_state_dict(best.state)
        result.best_rank = best.rank or ()
        result.best_score = abs(result.best_rank[0])
    module.eval()
    result.best_epoch = best.epoch or result.n_epochs
    return result
