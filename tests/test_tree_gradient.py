"""The gradient kernel against tests/reference.py, for trees of any shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dgtrees.tree import gradient
from dgtrees.tree.gradient import FORMS, GIVEN, MARGIN, SIGN, WIDTH, Decisions
from dgtrees.tree.topology import child_pointers

QUANTIZERS = {"margin": MARGIN, "sign": SIGN, "given": GIVEN}
ELSEWHERE = np.float32(7.25)
"""What lies around the places that a call may change."""

seeds = st.integers(0, 2**32 - 1)
forms = pytest.mark.parametrize("form", FORMS)
quantizers = pytest.mark.parametrize("quantizer", QUANTIZERS)


def told(quantizer, form, scale=0.9, steepness=3.0, window=0.6):
    numbers = (np.float32(number) for number in (scale, steepness / 2, window))
    return Decisions(QUANTIZERS[quantizer], FORMS[form], *numbers)


def compiled_gradient(a, scores, left, right, depth, how, start=3, apart=5):
    """The kernel's answer, from arrays with more in them than it may touch."""
    (rows, nodes), padded = a.shape, -(-len(a) // WIDTH) * WIDTH
    stride = padded + apart
    flat = np.full(start + nodes * stride, ELSEWHERE)
    table = flat[start:].reshape(nodes, stride)
    table[:, :padded] = 0
    table[:, :rows] = a.T
    places = gradient.scratch_size(nodes)
    work = np.full(places + (nodes + 1) * stride, np.nan, np.float32)
    kept = work[places:].reshape(nodes + 1, stride)
    kept[:, :padded] = 0
    kept[:, :rows] = scores.T
    before = kept.copy()
    run = gradient.local_gradient if how.form == gradient.LOCAL else gradient.tree_gradient
    run(flat, start, stride, padded, left, right, how, depth, work, places, stride)
    assert (flat[:start] == ELSEWHERE).all() and (table[:, padded:] == ELSEWHERE).all()
    assert np.array_equal(kept, before, equal_nan=True)
    assert (table[:, rows:padded] == 0).all()  # rows of padding teach nothing
    return table[:, :rows].T.copy()


def some_rows(rng, rows, nodes, spread=1.0):
    a = (spread * rng.normal(size=(rows, nodes))).astype(np.float32)
    return a, rng.normal(size=(rows, nodes + 1)).astype(np.float32)


@forms
@quantizers
@settings(max_examples=40)
@given(
    seed=seeds,
    nodes=st.integers(1, 12),
    rows=st.integers(1, 40),
    scale=st.sampled_from([0.1, 0.9, 3.0]),
    spread=st.sampled_from([0.3, 1.0, 4.0]),
)
def test_any_tree_has_the_references_gradient(quantizer, form, seed, nodes, rows, scale, spread):
    rng = np.random.default_rng(seed)
    left, right, depth = reference.random_topology(nodes, rng)
    a, scores = some_rows(rng, rows, nodes, spread)
    how = told(quantizer, form, scale)
    found = compiled_gradient(a, scores, left, right, depth, how)
    numbers = {"scale": float(how.scale), "steepness": 3.0, "window": float(how.window)}
    wanted = reference.activation_gradient(
        a.astype(float), scores.astype(float), left, right, form, quantizer, **numbers
    )
    # Decisions of 3 and more in a product are no probabilities, but polynomials all the same.
    size = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, atol=3e-6 * size)


@pytest.mark.parametrize("form", ["sum", "product"])
@quantizers
def test_a_large_tree_of_each_kind(quantizer, form):
    rng = np.random.default_rng(0)
    left, right = child_pointers(6)
    a, scores = some_rows(rng, 33, 63)
    if quantizer == "given" and form == "product":
        a = np.tanh(a)
    found = compiled_gradient(a, scores, left, right, 6, told(quantizer, form))
    wanted = reference.activation_gradient(
        a.astype(float), scores.astype(float), left, right, form, quantizer, 0.9, 3.0, 0.6
    )
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_complete_trees_of_signs_need_no_weighing_of_what_lies_below():
    rng = np.random.default_rng(1)
    left, right = child_pointers(5)
    a, scores = some_rows(rng, 48, 31)
    how = told("sign", "sum", scale=1.7)
    short = compiled_gradient(a, scores, left, right, 5, how)
    weighed = compiled_gradient(a, scores, left, right, 6, how)  # not complete at this depth
    np.testing.assert_allclose(short, weighed, atol=1e-6)
    assert not np.array_equal(short, weighed)  # two ways, or there was nothing to compare


@forms
@quantizers
def test_a_rows_gradient_is_its_own_whatever_stands_beside_it(quantizer, form):
    rng = np.random.default_rng(2)
    left, right, depth = reference.random_topology(9, rng)
    a, scores = some_rows(rng, 37, 9)
    how = told(quantizer, form)
    together = compiled_gradient(a, scores, left, right, depth, how)
    order = rng.permutation(37)
    shuffled = compiled_gradient(a[order], scores[order], left, right, depth, how, 0, 1)
    assert np.array_equal(shuffled, together[order])
    alone = compiled_gradient(a[5:6], scores[5:6], left, right, depth, how)
    assert np.array_equal(alone[0], together[5])


@forms
def test_saturated_decisions_have_a_gradient_of_exactly_0(form):
    left, right = child_pointers(2)
    # steepness * a / 2 = 2 a: 9 and beyond, where tanh is 1 in float32.
    a = np.array([[4.5, -4.5, 100.0], [-4.5, 4.5, -1e30]], np.float32)
    scores = np.array([[3.0, -8.0, 2.0, 5.0]] * 2, np.float32)
    found = compiled_gradient(a, scores, left, right, 2, told("margin", form, steepness=4.0))
    assert (found == 0.0).all()


@forms
def test_nearly_saturated_decisions_have_the_right_gradient_relative_to_its_size(form):
    """Absolute agreement would not do: AdamW makes full steps of the smallest wrong gradient."""
    left, right = child_pointers(1)
    a = np.linspace(3.0, np.nextafter(np.float32(4.5), np.float32(0)), 64, dtype=np.float32)
    a = np.concatenate([a, -a])[:, None]
    scores = np.tile(np.array([1.0, -2.0], np.float32), (128, 1))
    found = compiled_gradient(a, scores, left, right, 1, told("margin", form, 1.0, 4.0))[:, 0]
    x = 2.0 * a[:, 0].astype(float)
    slope = 2.0 / np.cosh(x) ** 2
    p_right = 1 / (1 + np.exp(-2 * np.tanh(x)))
    factor = 2 * p_right * (1 - p_right) if form == "sum" else 0.5
    wanted = -3.0 * factor * slope
    assert (np.abs(found - wanted) < 1e-4 * np.abs(wanted)).all()


@forms
def test_the_signs_window_includes_its_edges(form):
    left, right = child_pointers(1)
    edge = np.float32(1)
    a = np.array([edge, -edge, np.nextafter(edge, np.float32(2)), -2.0, np.nan], np.float32)
    scores = np.tile(np.array([0.0, 1.0], np.float32), (5, 1))
    found = compiled_gradient(a[:, None], scores, left, right, 1, told("sign", form))[:, 0]
    assert (found[:2] > 0).all()
    assert (found[2:] == 0).all()


@given(seed=seeds, height=st.integers(1, 5), d=st.integers(1, 9))
def test_algorithm_2_of_the_paper_literally(seed, height, d):
    rng = np.random.default_rng(seed)
    x = np.append(rng.normal(size=d), 1.0)
    W, theta = rng.normal(size=(2**height - 1, d + 1)), rng.normal(size=2**height)
    wanted, at_leaf = reference.algorithm_2(x, W, theta)
    left, right = child_pointers(height)
    a = (W @ x).astype(np.float32)
    how = told("sign", "sum", scale=1.0, window=1.0)
    scores = theta[None].astype(np.float32)
    found = compiled_gradient(a[None], scores, left, right, height, how)
    np.testing.assert_allclose(np.outer(found[0], x), wanted, atol=1e-5)
    assert at_leaf[gradient.leaf_of_row(a, 0, 1, left, right)] == 1.0


@given(seed=seeds, nodes=st.integers(0, 20), apart=st.integers(1, 4), start=st.integers(0, 3))
def test_leaf_of_row(seed, nodes, apart, start):
    rng = np.random.default_rng(seed)
    left, right, _ = reference.random_topology(nodes, rng)
    a = np.full(start + max(1, nodes) * apart, np.nan, np.float32)
    own = rng.normal(size=nodes).astype(np.float32)
    a[start:][: nodes * apart : apart] = own
    found = gradient.leaf_of_row(a, start, apart, left, right)
    assert found == reference.hard_leaf(own, left, right)


def test_ties_go_right():
    left, right = child_pointers(2)
    assert gradient.leaf_of_row(np.array([0.0, 9.0, -0.0], np.float32), 0, 1, left, right) == 3


@forms
@settings(max_examples=20)
@given(seed=seeds, nodes=st.integers(0, 10), rows=st.integers(0, 35))
def test_decisions_that_are_given(form, seed, nodes, rows):
    rng = np.random.default_rng(seed)
    left, right, depth = reference.random_topology(nodes, rng)
    decisions, scores = rng.uniform(-1, 1, (rows, nodes)), rng.normal(size=(rows, nodes + 1))
    decisions, scores = decisions.astype(np.float32), scores.astype(np.float32)
    found = gradient.gradient_of_decisions(decisions, scores, left, right, FORMS[form], depth)
    wanted = reference.activation_gradient(
        decisions.astype(float), scores.astype(float), left, right, form, "given"
    )
    assert found.shape == (rows, nodes) and found.flags.c_contiguous
    np.testing.assert_allclose(found, wanted, atol=2e-6)


@pytest.mark.parametrize("nodes", [1, 63, 400])
def test_huge_decisions_do_not_overflow(nodes):
    rng = np.random.default_rng(3)
    left, right, depth = reference.random_topology(nodes, rng)
    decisions = np.float32(1e4) * rng.choice([-1, 1], (20, nodes))
    scores = rng.normal(size=(20, nodes + 1))
    found = gradient.gradient_of_decisions(decisions, scores, left, right, FORMS["sum"], depth)
    assert np.isfinite(found).all()


def test_a_chain_of_largest_decisions_does_not_overflow():
    nodes = 200
    left = ~np.arange(nodes, dtype=np.int32)
    right = np.append(np.arange(1, nodes), ~nodes).astype(np.int32)
    decisions = np.full((16, nodes), gradient.largest_decision(nodes))
    decisions[8:] *= -1
    scores = np.random.default_rng(4).normal(size=(16, nodes + 1))
    found = gradient.gradient_of_decisions(decisions, scores, left, right, FORMS["sum"], nodes)
    wanted = reference.activation_gradient(decisions, scores, left, right, "sum", "given")
    np.testing.assert_allclose(found, wanted, atol=1e-5)
