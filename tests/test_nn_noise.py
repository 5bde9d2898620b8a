"""Noise on training rows."""

import torch

from dgtrees.learn.noise import NoisePool
from dgtrees.learn.recipe import Recipe


def test_relative_noise_grows_with_the_value():
    pool = NoisePool(torch.Generator().manual_seed(0), 4000)
    x = torch.tensor([0.0, 1.0, 30.0]).repeat(1000, 1)
    spread = (pool.add_to(x, 0.1, relative=0.2) - x).std(dim=0)
    expected = (0.1**2 + (0.2 * x[0]) ** 2).sqrt()
    torch.testing.assert_close(spread, expected, rtol=0.1, atol=0.0)
    assert not Recipe().noisy and Recipe(relative_noise=0.1).noisy
