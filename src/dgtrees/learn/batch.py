"""Training a tree on labelled rows: epochs, validation, best weights.

`fit_tree` runs the loop of Algorithm `algo:learntree` for any `Recipe`. It works on tensors that
are already encoded and standardised; turning tables into those is the estimators' work.

Training uses one thread: batches are too small for a second one to pay, and the result is then
the same on every machine and under every thread setting.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dgtrees.errors import StateError
from dgtrees.learn.losses import LOSSES, Loss, cross_entropy
from dgtrees.learn.module import TrainableTree
from dgtrees.learn.quantizers import AnnealedSigmoid
from dgtrees.learn.recipe import Recipe

__all__ = ["Rows", "TrainingResult", "fit_tree", "make_module", "make_optimizer", "one_thread"]

# Drawing fresh normal numbers would cost more than the step for wide rows; a window into a fixed
# pool, moved at random every step, does the same work for the price of an addition.
_NOISE_POOL = 1 << 21


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
    stopped_early: bool = False


Callback = Callable[[int, int, dict[str, float]], "bool | None"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, and give the caller's setting back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_module(
    in_features: int, out_features: int, max_depth: int, leaf: str, recipe: Recipe
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
    )


def make_optimizer(module: TrainableTree, recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimiser, with leaves in a group of their own."""
    leaves = module.leaf_parameters()
    ids = {id(p) for p in leaves}
    nodes = [p for p in module.parameters() if id(p) not in ids]
    rate = recipe.learning_rate
    if recipe.rate_features is not None:
        rate *= min(1.0, (recipe.rate_features / module.in_features) ** 0.5)
    groups = [
        {"params": nodes, "lr": rate, "weight_decay": recipe.weight_decay},
        {"params": leaves, "lr": recipe.leaf_learning_rate, "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if recipe.optimizer == "rmsprop":
        return torch.optim.RMSprop(groups, momentum=recipe.momentum)
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=recipe.momentum)
    return torch.optim.AdamW(groups, fused=True)


def _rate(recipe: Recipe, done: float) -> float:
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


def _mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    return losses.mean() if weight is None or losses.ndim == 0 else (losses * weight).mean()


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
    parts = [module(x) for x in rows.X.split(8192)]
    prediction = torch.cat(parts)
    weight = rows.weight
    result = {"loss": float(_mean(loss(prediction, rows.y), weight))}
    if classification:
        hit = (prediction.argmax(dim=1) == rows.y).float()
        result["accuracy"] = float(_mean(hit, weight))
    else:
        error = (prediction - rows.y).square().mean(dim=1)
        result["rmse"] = float(_mean(error, weight)) ** 0.5
    return result


class _NoisePool:
    """Gaussian noise of one size for batches of any shape, from one seeded pool."""

    def __init__(self, size: float, generator: torch.Generator, largest: int) -> None:
        self.generator = generator
        count = max(_NOISE_POOL, 2 * largest)
        self.pool = torch.randn(count, generator=generator).mul_(size)

    def add_to(self, x: Tensor) -> Tensor:
        span = len(self.pool) - x.numel()
        start = int(torch.randint(span, (1,), generator=self.generator))
        return x + self.pool[start : start + x.numel()].view_as(x)


def fit_tree(
    module: TrainableTree,
    train: Rows,
    recipe: Recipe,
    *,
    classification: bool,
    validation: Rows | None = None,
    generator: torch.Generator | None = None,
    optimizer: torch.optim.Optimizer | None = None,
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
    optimizer : torch.optim.Optimizer
        One to go on with; a new one otherwise.
    epochs : int
        Overrides the recipe's number of passes.
    callbacks : tuple of callable(epoch, n_epochs, metrics)
        Called after every epoch; training stops where one returns True.
    """
    loss = _training_loss(recipe, classification)
    n_epochs = recipe.n_epochs(len(train)) if epochs is None else epochs
    optimizer = optimizer or make_optimizer(module, recipe)
    generator = generator or torch.Generator().manual_seed(0)
    result = TrainingResult()
    keeper = _Best(module, maximize=classification)
    average = _RunningAverage(module, recipe.averaging) if recipe.averaging else None
    batch_size = recipe.rows_a_step(len(train))
    steps = -(-len(train) // batch_size)
    noise = None
    if recipe.input_noise:
        largest = min(batch_size, len(train)) * train.X.shape[1]
        noise = _NoisePool(recipe.input_noise, generator, largest)
    base_rates = [group["lr"] for group in optimizer.param_groups]
    with one_thread():
        for epoch in range(n_epochs):
            module.train()
            module.quantizer.set_progress(epoch / max(1, n_epochs - 1))
            total = 0.0
            order = torch.randperm(len(train), generator=generator)
            for step, rows in enumerate(order.split(batch_size)):
                rate = _rate(recipe, (epoch + step / steps) / n_epochs)
                for group, base in zip(optimizer.param_groups, base_rates, strict=True):
                    group["lr"] = base * rate
                x = train.X[rows]
                if noise is not None:
                    x = noise.add_to(x)
                weight = None if train.weight is None else train.weight[rows]
                objective = _mean(loss(module(x), train.y[rows]), weight)
                optimizer.zero_grad(set_to_none=True)
                objective.backward()
                if recipe.l1 or recipe.l2:
                    _add_penalty(module, recipe)
                if recipe.clip:
                    torch.nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
                optimizer.step()
                if average is not None:
                    average.update()
                total += float(objective.detach()) * len(rows)
            metrics = {"loss": total / len(train)}
            if not math.isfinite(metrics["loss"]):
                raise StateError(
                    f"the loss became {metrics['loss']} in epoch {epoch + 1}: lower learning_rate "
                    "or leaf_learning_rate, or check the scale of the data and of a custom loss"
                )
            score = None
            if validation is not None:
                with average.in_place() if average is not None else _nothing():
                    on_validation = evaluate(module, validation, classification, loss)
                    metrics |= {f"val_{name}": value for name, value in on_validation.items()}
                    score = metrics["val_accuracy" if classification else "val_rmse"]
                    keeper.offer(score, epoch + 1)
            for name, value in metrics.items():
                result.history.setdefault(name, []).append(value)
            result.n_epochs = epoch + 1
            for callback in callbacks:  # all of them, even if the first one asks to stop
                result.stopped_early |= bool(callback(epoch + 1, n_epochs, metrics))
            if recipe.patience is not None and epoch + 1 - keeper.epoch >= recipe.patience:
                result.stopped_early = result.stopped_early or score is not None
            if result.stopped_early:
                break
    for group, base in zip(optimizer.param_groups, base_rates, strict=True):
        group["lr"] = base
    if average is not None and validation is None:
        average.install()
    if validation is not None and keeper.state is not None:
        module.load_state_dict(keeper.state)
    module.eval()
    result.best_epoch = keeper.epoch if validation is not None else result.n_epochs
    result.best_score = keeper.score
    return result


class _Best:
    """Keeps a copy of the weights that scored best; later epochs win ties."""

    def __init__(self, module: TrainableTree, maximize: bool) -> None:
        self.module, self.sign = module, 1.0 if maximize else -1.0
        self.score: float | None = None
        self.state: dict[str, Tensor] | None = None
        self.epoch = 0

    def offer(self, score: float, epoch: int) -> None:
        if self.score is None or self.sign * score >= self.sign * self.score:
            self.score, self.epoch = score, epoch
            self.state = copy.deepcopy(self.module.state_dict())


class _RunningAverage:
    """Exponential average of the parameters, with its start-up bias removed."""

    def __init__(self, module: TrainableTree, decay: float) -> None:
        self.parameters: list[Tensor] = list(module.parameters())
        self.decay = decay
        self.average = [p.detach().clone() for p in self.parameters]
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 10.0))
        torch._foreach_lerp_(self.average, self.parameters, 1.0 - decay)

    @torch.no_grad()
    def install(self) -> None:
        torch._foreach_copy_(self.parameters, self.average)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use the averaged weights inside the block, the trained ones after it."""
        trained = [p.detach().clone() for p in self.parameters]
        self.install()
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, trained)


@contextmanager
def _nothing() -> Iterator[None]:
    yield
