"""The exponent that makes class shares as sure as they deserve."""

import numpy as np
import pytest

from dgtrees.learn.sharpening import fit_exponent


def drawn(rows, exponent, seed=0):
    """Shares, and labels whose chances are powers of them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=rows)
    chances = shares**exponent
    chances /= chances.sum(axis=1, keepdims=True)
    return shares, (rng.random((rows, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("exponent", [0.6, 1.0, 2.5])
def test_the_exponent_of_drawn_labels_is_found(exponent):
    shares, label = drawn(20_000, exponent)
    assert fit_exponent(shares, label, np.ones(20_000)) == pytest.approx(exponent, rel=0.05)


def test_no_other_exponent_has_less_loss():
    shares, label = drawn(500, 1.7)
    weight = np.random.default_rng(1).integers(0, 4, size=500).astype(float)

    def loss(exponent):
        powers = shares**exponent
        own = powers[np.arange(500), label] / powers.sum(axis=1)
        return weight @ -np.log(own) + 0.5 * np.log(exponent) ** 2

    grid = np.geomspace(0.25, 8.0, 400)
    best = grid[np.argmin([loss(exponent) for exponent in grid])]
    assert fit_exponent(shares, label, weight) == pytest.approx(best, rel=0.02)
    many = fit_exponent(
        np.repeat(shares, weight.astype(int), axis=0),
        np.repeat(label, weight.astype(int)),
        np.ones(int(weight.sum())),
    )
    assert many == pytest.approx(fit_exponent(shares, label, weight), rel=1e-3)


def test_few_rows_that_are_all_right_do_not_make_sure():
    label = np.zeros(3, dtype=int)
    few = fit_exponent(np.repeat([[0.7, 0.3]], 3, axis=0), label, np.ones(3))
    assert 1.0 < few < 3.0
    assert fit_exponent(np.repeat([[1.0, 0.0]], 3, axis=0), label, np.ones(3)) == pytest.approx(
        1.0, abs=0.01
    )
    assert fit_exponent(np.repeat([[0.0, 1.0]], 3, axis=0), label, np.ones(3)) < 0.3
