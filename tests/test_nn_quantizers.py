"""From activations to decisions."""

import pytest
import torch

from dgtrees.learn.recipe import QUANTIZER_NAMES
from dgtrees.nn.quantizers import QUANTIZERS, AnnealedSigmoid


def test_scaled_sign_uses_the_mean_activation():
    a = torch.tensor([[0.5, -1.5, 0.1]], requires_grad=True)
    decisions = QUANTIZERS["scaled_sign"]()(a)
    torch.testing.assert_close(decisions, torch.tensor([[0.7, -0.7, 0.7]]))
    decisions.sum().backward()
    assert a.grad.tolist() == [[1.0, 0.0, 1.0]]


def test_lsq_learns_its_step():
    quantizer = QUANTIZERS["lsq"]()
    a = torch.tensor([[0.5, -1.5, 0.25]], requires_grad=True)
    decisions = quantizer(a)
    alpha = quantizer.alpha.item()
    assert alpha == pytest.approx(2 * 2.25 / 3)
    (decisions * torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    # Inside the step: sign(a) - a / alpha, weighted by the incoming gradient.
    expected = (1 - 0.5 / alpha) + 2 * (-1 + 1.5 / alpha) + 3 * (1 - 0.25 / alpha)
    assert quantizer.alpha.grad.item() == pytest.approx(expected / 3**0.5, rel=1e-5)
    assert a.grad.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(("schedule", "middle"), [("linear", 50.5), ("log", 10.0)])
def test_annealing_schedules(schedule, middle):
    quantizer = AnnealedSigmoid(1.0, 1.0, 100.0, schedule)
    seen = []
    for fraction in (0.0, 0.5, 1.0):
        quantizer.set_progress(fraction)
        seen.append(quantizer.steepness)
    assert seen == pytest.approx([1.0, middle, 100.0])


def test_recipes_know_every_quantizer():
    assert set(QUANTIZER_NAMES) == set(QUANTIZERS)
