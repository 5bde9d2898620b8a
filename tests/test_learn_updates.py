"""Optimisers against plain formulas, element by element."""

from itertools import pairwise

import numpy as np
import pytest

import reference
from dgtrees.learn._updates import CHUNK, OPTIMIZERS, update

SIZE, STEPS, RATE, TINY = 5000, 12, 0.03, 1e-8
CASES = [
    ("adamw", 0.0, 0.0),
    ("adamw", 0.0, 0.3),
    ("rmsprop", 0.0, 0.0),
    ("rmsprop", 0.8, 0.1),
    ("sgd", 0.0, 0.0),
    ("sgd", 0.9, 0.1),
]


def gradients():
    """Of very different sizes, down to none at all."""
    rng = np.random.default_rng(1)
    sizes = 10.0 ** rng.integers(-6, 2, size=SIZE)
    sizes[::7] = 0
    return [(sizes * rng.normal(size=SIZE)).astype(np.float32) for _ in range(STEPS)]


def trained(optimizer, momentum, decay, factor=1.0, averaging=0.0, cuts=(0, SIZE), epsilon=TINY):
    """Parameters and averages after every step; the vector is updated in parts."""
    P = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)
    M, V, average = np.zeros_like(P), np.zeros_like(P), P.copy()
    how, found, averages = (OPTIMIZERS[optimizer], momentum, epsilon), [], []
    for step, G in enumerate(gradients(), start=1):
        share = 1 / (1 + averaging * step)
        for start, stop in pairwise(cuts):
            update(P, G, M, V, average, start, stop, *how, factor, RATE, decay, step, share)
        found.append(P.copy())
        averages.append(average.copy())
    return found, averages


def wanted(optimizer, momentum, decay, factor=1.0, epsilon=TINY):
    P = np.random.default_rng(0).normal(size=SIZE).astype(np.float32).astype(float)
    steps = [factor * g.astype(float) for g in gradients()]
    if optimizer == "adamw":
        return P, reference.adamw(P, steps, RATE, decay, epsilon)
    if optimizer == "rmsprop":
        return P, reference.rmsprop(P, steps, RATE, decay, momentum, epsilon)
    return P, reference.sgd(P, steps, RATE, decay, momentum)


def assert_near(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("optimizer", "momentum", "decay"), CASES)
@pytest.mark.parametrize("factor", [1.0, 0.01])
@pytest.mark.parametrize("epsilon", [TINY, 1e-5])
def test_every_step_is_the_formulas(optimizer, momentum, decay, factor, epsilon):
    found, averages = trained(optimizer, momentum, decay, factor, epsilon=epsilon)
    assert_near(found, wanted(optimizer, momentum, decay, factor, epsilon)[1])
    # Without averaging the average is the present value, to rounding.
    assert_near(averages, found)


@pytest.mark.parametrize(("optimizer", "momentum", "decay"), CASES)
def test_the_average_looks_back_over_a_share_of_the_steps(optimizer, momentum, decay):
    _, averages = trained(optimizer, momentum, decay, averaging=0.2)
    start, present = wanted(optimizer, momentum, decay)
    assert_near(averages, reference.running_average(start, present, 0.2))


@pytest.mark.parametrize(("optimizer", "momentum", "decay"), CASES)
def test_parts_of_the_vector_give_the_same_bits(optimizer, momentum, decay):
    whole = trained(optimizer, momentum, decay, averaging=0.2)
    parts = trained(optimizer, momentum, decay, averaging=0.2, cuts=(0, CHUNK, 3 * CHUNK, SIZE))
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


def test_nothing_beyond_the_part_is_touched():
    P, G, M, V, average = (np.full(100, number, np.float32) for number in (1, 9, 3, 4, 5))
    how = OPTIMIZERS["adamw"], 0.0, TINY
    update(P, G, M, V, average, 20, 30, *how, 1.0, RATE, 0.1, 1, 0.5)
    for array, number in ((P, 1), (M, 3), (V, 4), (average, 5)):
        assert (array[:20] == number).all() and (array[30:] == number).all()
        assert (array[20:30] != number).all()
    assert (G == 9).all()


def test_a_gradient_of_0_moves_nothing():
    """Not even by AdamW, which makes a full step of every other gradient, however small."""
    for optimizer in OPTIMIZERS:
        P = np.full(10, 0.5, np.float32)
        G = np.where(np.arange(10) < 5, np.float32(0), np.float32(1e-7))
        M, V, average = (np.zeros_like(P) for _ in range(3))
        how = OPTIMIZERS[optimizer], 0.0, TINY
        update(P, G, M, V, average, 0, 10, *how, 1.0, RATE, 0.0, 1, 1.0)
        assert (P[:5] == np.float32(0.5)).all()
        if optimizer == "adamw":
            np.testing.assert_allclose(P[5:], 0.5 - RATE / 1.1, rtol=1e-5)
