"""The three optimisers of a recipe: torch's arithmetic without the work around it.

Trees are small, so what `torch.optim` does in Python before it comes to the numbers is a tenth of
a step; and its first use in a process imports torch's compiler, which takes longer than many a
training. Results are the same to the last bit, which the tests check.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "SGD", "AdamW", "Optimizer", "RMSprop"]


Group = dict[str, Any]
Tensors = list[Tensor]


class Optimizer:
    """Steps along the gradients of groups of parameters.

    Parameters
    ----------
    groups : list of dict
        With "params", a "weight_decay", and before the first step a learning rate "lr".
    momentum : float, default 0.0
        Of the optimisers that have one.
    """

    memory: tuple[str, ...] = ()
    """What is remembered of every parameter, in tensors of its shape that begin with zero."""

    def __init__(self, groups: list[Group], momentum: float = 0.0) -> None:
        self.param_groups, self.momentum = groups, momentum
        self.parameters = [p for group in groups for p in group["params"]]
        self.steps = torch.zeros((), device=self.parameters[0].device)
        self.state = [
            {name: [torch.zeros_like(p) for p in group["params"]] for name in self.memory}
            for group in groups
        ]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters by one step."""
        self.steps += 1
        for group, state in zip(self.param_groups, self.state, strict=True):
            self._update(group, [p.grad for p in group["params"]], state)

    def _update(self, group: Group, grads: Tensors, state: dict[str, Tensors]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return {"state": self.state, "steps": self.steps}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.steps.copy_(state["steps"])
        for mine, other in zip(self.state, state["state"], strict=True):
            for name in self.memory:
                torch._foreach_copy_(mine[name], other[name])


def _decay(group: Group, grads: Tensors) -> Tensors:
    """Gradients with that of the penalty on large weights."""
    if not group["weight_decay"]:
        return grads
    return list(torch._foreach_add(grads, group["params"], alpha=group["weight_decay"]))


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    memory = ("mean", "square")

    def _update(self, group: Group, grads: Tensors, state: dict[str, Tensors]) -> None:
        torch._fused_adamw_(
            group["params"],
            grads,
            state["mean"],
            state["square"],
            [],
            [self.steps] * len(grads),
            lr=group["lr"],
            beta1=0.9,
            beta2=0.999,
            weight_decay=group["weight_decay"],
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class RMSprop(Optimizer):
    """Gradients over the root of their mean square, with momentum."""

    memory = ("square", "velocity")

    def _update(self, group: Group, grads: Tensors, state: dict[str, Tensors]) -> None:
        params, rate, grads = group["params"], group["lr"], _decay(group, grads)
        torch._foreach_mul_(state["square"], 0.99)
        torch._foreach_addcmul_(state["square"], grads, grads, value=1 - 0.99)
        size = torch._foreach_sqrt(state["square"])
        torch._foreach_add_(size, 1e-8)
        if not self.momentum:
            torch._foreach_addcdiv_(params, grads, size, value=-rate)
            return
        torch._foreach_mul_(state["velocity"], self.momentum)
        torch._foreach_addcdiv_(state["velocity"], grads, size)
        torch._foreach_add_(params, state["velocity"], alpha=-rate)


class SGD(Optimizer):
    """Gradients as they are, with momentum."""

    memory = ("velocity",)

    def _update(self, group: Group, grads: Tensors, state: dict[str, Tensors]) -> None:
        params, rate, grads = group["params"], group["lr"], _decay(group, grads)
        torch._foreach_mul_(state["velocity"], self.momentum)
        torch._foreach_add_(state["velocity"], grads)
        torch._foreach_add_(params, state["velocity"], alpha=-rate)


OPTIMIZERS: dict[str, type[Optimizer]] = {"adamw": AdamW, "rmsprop": RMSprop, "sgd": SGD}
