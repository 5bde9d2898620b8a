"""The compiled loops against tests/reference.py."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.tree import dot, gradient

FORMS = {"equal": gradient.SUM_EQUAL, "general": gradient.SUM_GENERAL, "product": gradient.PRODUCT}


@given(
    d=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_dot_adds_in_the_promised_order(d, seed, dtype):
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=d), rng.normal(size=d).astype(dtype)
    assert dot.dot(w, x) == reference.fixed_order_dot(w, x)


def reference_gradient(decisions, scores, path):
    d = torch.tensor(decisions, dtype=torch.float64, requires_grad=True)
    q = reference.soft_leaves(d, path)
    (q * torch.tensor(scores, dtype=torch.float64)).sum().backward()
    return d.grad.numpy(), q.detach().numpy()


@given(
    height=st.integers(1, 6),
    batch=st.integers(1, 40),
    scale=st.sampled_from([0.1, 0.5, 1.0, 3.0]),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_gradient_of_equal_decisions(height, batch, scale, seed, dtype):
    rng = np.random.default_rng(seed)
    decisions = (scale * np.sign(rng.normal(size=(batch, 2**height - 1)))).astype(dtype)
    scores = rng.normal(size=(batch, 2**height)).astype(dtype)
    result = np.empty_like(decisions)
    gradient.tree_gradient(decisions, scores, gradient.SUM_EQUAL, result)
    expected, _ = reference_gradient(decisions, scores, "sum")
    np.testing.assert_allclose(result, expected, atol=2e-6 if dtype == np.float32 else 1e-12)


@given(
    height=st.integers(1, 6),
    batch=st.integers(1, 40),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
    form=st.sampled_from(["general", "product"]),
)
def test_gradient_and_distribution_of_any_decisions(height, batch, spread, seed, form):
    rng = np.random.default_rng(seed)
    decisions = rng.uniform(-1, 1, size=(batch, 2**height - 1))
    if form == "general":
        decisions *= spread
    scores = rng.normal(size=(batch, 2**height))
    slopes, probabilities = np.empty_like(decisions), np.empty_like(scores)
    gradient.tree_gradient(decisions, scores, FORMS[form], slopes)
    gradient.leaf_probabilities(decisions, FORMS[form], probabilities)
    expected, q = reference_gradient(decisions, scores, "product" if form == "product" else "sum")
    np.testing.assert_allclose(slopes, expected, atol=1e-10)
    np.testing.assert_allclose(probabilities, q, atol=1e-12)


@given(height=st.integers(1, 6), batch=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_local_gradient_compares_the_two_leaves_a_node_decides_between(height, batch, seed):
    rng = np.random.default_rng(seed)
    decisions = rng.normal(size=(batch, 2**height - 1))
    scores = rng.normal(size=(batch, 2**height))
    result = np.empty_like(decisions)
    gradient.tree_gradient(decisions, scores, gradient.HARD, result)
    np.testing.assert_allclose(result, reference.local_gradient(decisions, scores), atol=1e-12)


@pytest.mark.parametrize("form", ["general", "equal"])
def test_huge_decisions_do_not_overflow(form):
    decisions = np.where(np.arange(2 * 63).reshape(2, 63) % 3 == 0, 1e4, -1e4)
    scores = np.random.default_rng(0).normal(size=(2, 64))
    result = np.empty_like(decisions)
    gradient.tree_gradient(decisions, scores, FORMS[form], result)
    assert np.isfinite(result).all()


@given(height=st.integers(1, 5), d=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
def test_algorithm_2_of_the_paper_literally(height, d, seed):
    rng = np.random.default_rng(seed)
    x = np.append(rng.normal(size=d), 1.0)
    W = rng.normal(size=(2**height - 1, d + 1))
    theta = rng.normal(size=2**height)
    expected_W, expected_theta = reference.algorithm_2(x, W, theta)

    a = W @ x
    decisions = np.where(a >= 0, 1.0, -1.0)[None]
    slopes = np.empty_like(decisions)
    gradient.tree_gradient(decisions, theta[None], gradient.SUM_EQUAL, slopes)
    windowed = np.empty_like(slopes)
    gradient.straight_through(a[None], slopes, 1.0, windowed)
    np.testing.assert_allclose(np.outer(windowed[0], x), expected_W, atol=1e-12)

    leaf = np.empty(1, dtype=np.int64)
    gradient.leaf_of_decisions(decisions, leaf)
    assert expected_theta[leaf[0]] == 1.0


def test_ties_go_right():
    zero = np.array([[0.0, -0.0, 0.0]])
    decisions = np.empty_like(zero)
    gradient.hard_sign(zero, 1.0, decisions)
    assert (decisions == 1.0).all()
    leaf = np.empty(1, dtype=np.int64)
    gradient.leaf_of_decisions(decisions, leaf)
    assert leaf[0] == 3
