"""Noise on training rows, drawn once and read from a random place at every step."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["NoisePool"]

# Drawing fresh normal numbers would cost more than the step for wide rows; a window into a fixed
# pool, moved at random every step, does the same work for the price of an addition.
_POOL_SIZE = 1 << 21


class NoisePool:
    """Gaussian noise of unit size for batches of any shape, from one seeded pool."""

    def __init__(self, generator: torch.Generator, largest: int) -> None:
        self.generator = generator
        self.pool = torch.randn(max(_POOL_SIZE, 2 * largest), generator=generator)

    def add_to(self, x: Tensor, size: float, relative: float = 0.0) -> Tensor:
        """X plus noise of standard deviation `size`, and of `relative` times x."""
        span = len(self.pool) - x.numel()
        start = int(torch.randint(span, (1,), generator=self.generator))
        noise = self.pool[start : start + x.numel()].view_as(x)
        if not relative:
            return torch.add(x, noise, alpha=size)
        # Two independent noises add up in their squares.
        return torch.addcmul(x, noise, (relative * x).square_().add_(size**2).sqrt_())
