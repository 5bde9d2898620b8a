"""Losses against torch's own."""

import torch

from dgtrees.nn.losses import cross_entropy


def test_label_smoothing_is_torchs():
    prediction, target = torch.randn(6, 4), torch.randint(4, (6,))
    expected = torch.nn.functional.cross_entropy(
        prediction, target, label_smoothing=0.1, reduction="none"
    )
    torch.testing.assert_close(cross_entropy(prediction, target, 0.1), expected)
