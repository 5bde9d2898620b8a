"""Trees that mix their leaves: the schedules, the mixture, its gradient."""

import numpy as np
import pytest
import torch

from dgtrees.paper.baselines.soft_trees import AnnealedTree, SmoothForest


def tree(schedule="log", start=1.0, stop=100.0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    options = {"start": start, "stop": stop, "schedule": schedule, "generator": generator}
    return AnnealedTree(4, 2, 3, **options).to(dtype)


@pytest.mark.parametrize(("schedule", "halfway"), [("log", 10.0), ("linear", 50.5)])
def test_schedules_run_from_start_to_stop(schedule, halfway):
    annealed = tree(schedule)
    seen = []
    for fraction in (0.0, 0.5, 1.0):
        annealed.set_progress(fraction)
        seen.append(float(annealed.scale))
    np.testing.assert_allclose(seen, [1.0, halfway, 100.0], rtol=1e-6)


def test_training_mixes_leaves_by_the_soft_max_of_path_products():
    annealed = tree()
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    right = torch.sigmoid(annealed.activations(x)).detach().numpy()
    products = np.ones((5, 8))
    for leaf in range(8):
        node = 0
        for bit in format(leaf, "03b"):
            products[:, leaf] *= right[:, node] if bit == "1" else 1.0 - right[:, node]
            node = 2 * node + 1 + int(bit)
    weighed = np.exp(products) / np.exp(products).sum(axis=1, keepdims=True)
    expected = weighed @ annealed.leaf_values.detach().numpy()
    np.testing.assert_allclose(annealed.train()(x).detach().numpy(), expected, atol=1e-6)


def test_gradients_agree_with_differences():
    annealed = tree(start=7.0, stop=7.0, dtype=torch.float64).train()
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *_: annealed(x), tuple(annealed.parameters()))


def test_in_evaluation_it_is_its_hard_tree():
    annealed = tree().eval()
    x = torch.randn(200, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        np.testing.assert_allclose(
            annealed(x).numpy(), annealed.to_tree().predict(x.numpy()), atol=1e-6
        )


def test_shares_of_a_row_add_up_and_gradients_agree_with_differences():
    generator = torch.Generator().manual_seed(0)
    forest = SmoothForest(4, 2, 3, n_trees=2, gamma=2.0, generator=generator).double()
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    shares = forest.trees[0].leaf_mixture(x)
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(6, dtype=torch.float64))
    inputs = tuple(forest.parameters())
    assert torch.autograd.gradcheck(lambda *_: forest(x), inputs)
