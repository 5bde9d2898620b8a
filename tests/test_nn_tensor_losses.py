"""Which loss a recipe names, and its mean over rows."""

import pytest
import torch

from dgtrees.learn.recipe import Recipe
from dgtrees.nn.tensor_losses import LOSSES, mean_loss, training_loss


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_are_one_number_a_row(name):
    target = torch.randint(4, (6,)) if name == "cross_entropy" else torch.randn(6, 4)
    assert LOSSES[name](torch.randn(6, 4), target).shape == (6,)


def test_label_smoothing_spreads_the_target_over_all_classes():
    prediction, target = torch.randn(6, 4), torch.randint(4, (6,))
    loss = training_loss(Recipe(label_smoothing=0.1), True)
    log_p = torch.log_softmax(prediction, dim=1)
    share = 0.9 * torch.nn.functional.one_hot(target, 4) + 0.1 / 4
    torch.testing.assert_close(loss(prediction, target), -(share * log_p).sum(dim=1))


def test_a_recipes_loss():
    assert training_loss(Recipe(), False) is LOSSES["squared"]
    assert training_loss(Recipe(loss="huber"), False) is LOSSES["huber"]
    own = lambda prediction, target: prediction.sum()  # noqa: E731
    assert training_loss(Recipe(loss=own), True) is own
    with pytest.raises(ValueError, match=r"loss must be a callable or one of .*, got 'log'"):
        training_loss(Recipe(loss="log"), True)
    with pytest.raises(ValueError, match="loss 'squared' is not for classification: choose"):
        training_loss(Recipe(loss="squared"), True)


def test_means_are_weighted_and_a_loss_must_have_one_number_a_row():
    losses, weight = torch.tensor([1.0, 3.0]), torch.tensor([1.5, 0.5])
    assert mean_loss(losses, 2, None) == 2.0 and mean_loss(losses, 2, weight) == 1.5
    assert mean_loss(losses[:, None].repeat(1, 3), 2, weight) == 1.5
    assert mean_loss(losses.sum(), 2, None) == 4.0
    with pytest.raises(ValueError, match=r"leave out its final mean\(\)"):
        mean_loss(losses.sum(), 2, weight)
    with pytest.raises(ValueError, match=r"one number a row, \(3,\), got shape \(2,\)"):
        mean_loss(losses, 3, None)
