"""Which weights a training run delivers: an average of them, and those of the best epoch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dgtrees.learn.module import TrainableTree

__all__ = ["BestWeights", "RunningAverage"]


class BestWeights:
    """Keeps a copy of the weights that scored best; of equal scores the later one."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.rank: tuple[float, ...] | None = None
        self.state: dict[str, Tensor] | None = None
        self.epoch = 0

    def offer(self, rank: tuple[float, ...], epoch: int) -> None:
        """Keep the present weights if `rank`, compared like a tuple, is the highest so far."""
        if self.rank is None or rank >= self.rank:
            self.rank, self.epoch = rank, epoch
            self.state = copy.deepcopy(self.module.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return {"rank": self.rank, "state": self.state, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.rank, self.state, self.epoch = state["rank"], state["state"], state["epoch"]


class RunningAverage:
    """Average of the parameters over about the last `share` of all steps so far.

    The window grows with the number of steps, so the average forgets the start by itself and has
    no decay rate to tune (polynomial-decay averaging, Shamir and Zhang 2013). A share of 0 makes it
    the parameters themselves.
    """

    def __init__(self, module: TrainableTree, share: float) -> None:
        self.parameters: list[Tensor] = list(module.parameters())
        self.share = share
        self.average = [p.detach().clone() for p in self.parameters] if share else []
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        """Take the parameters after one more step in."""
        if self.share:
            self.steps += 1
            present = 1.0 / (1.0 + self.share * self.steps)
            torch._foreach_lerp_(self.average, self.parameters, present)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return {"average": self.average, "steps": self.steps}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.steps = state["steps"]
        if self.share:
            torch._foreach_copy_(self.average, state["average"])

    @torch.no_grad()
    def install(self) -> None:
        """Make the average the module's parameters."""
        if self.share:
            torch._foreach_copy_(self.parameters, self.average)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use the averaged weights inside the block, the trained ones after it."""
        trained = [p.detach().clone() for p in self.parameters] if self.share else []
        self.install()
        try:
            yield
        finally:
            if self.share:
                with torch.no_grad():
                    torch._foreach_copy_(self.parameters, trained)
