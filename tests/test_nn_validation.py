"""What validation measures, and which weights are kept."""

import pytest
import torch

from dgtrees.nn.tensor_losses import LOSSES
from dgtrees.nn.tensor_rows import TensorRows
from dgtrees.nn.validation import BestWeights, evaluate


def test_scores_of_classes_and_values_are_weighted_means():
    network = torch.nn.Identity()
    rows = TensorRows(torch.tensor([[0.0, 9.0], [9.0, 0.0]]), torch.tensor([1, 1]))
    assert evaluate(network, rows, True, LOSSES["cross_entropy"])["accuracy"] == 0.5
    heavy = TensorRows(rows.X, rows.y, torch.tensor([1.5, 0.5]))
    assert evaluate(network, heavy, True, LOSSES["cross_entropy"])["accuracy"] == 0.75
    values = TensorRows(torch.zeros(2, 1), torch.tensor([[1.0], [7.0]]))
    found = evaluate(network, values, False, LOSSES["absolute"])
    assert found == pytest.approx({"loss": 4.0, "rmse": 5.0})


def test_more_rows_than_are_evaluated_at_once():
    rows = TensorRows(torch.randn(2500, 1), torch.randn(2500, 1))
    expected = (rows.X - rows.y).square().mean()
    found = evaluate(torch.nn.Identity(), rows, False, LOSSES["squared"])
    assert found["loss"] == pytest.approx(float(expected), rel=1e-5)


def test_of_equal_scores_the_later_weights_are_kept():
    layer = torch.nn.Linear(1, 1)
    best = BestWeights(layer)
    for epoch, rank in enumerate([(0.5,), (0.7,), (0.7,), (0.6,)], start=1):
        with torch.no_grad():
            layer.weight.fill_(float(epoch))
        best.offer(rank, epoch)
    assert best.epoch == 3 and best.rank == (0.7,) and best.state["weight"].item() == 3.0
