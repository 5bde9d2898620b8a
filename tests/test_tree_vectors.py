"""Sixteen numbers side by side: the same as one by one, in float32's precision."""

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from dgtrees.tree import vectors
from dgtrees.tree.vectors import SATURATED, WIDTH


def compiled(expression):
    """A function of arrays (x, a, b, place): x from `place` on goes through the expression."""

    @intrinsic
    def through(_typing, x, a, b, place):
        def codegen(context, builder, signature, args):
            kinds = signature.args
            lanes = vectors.load(context, builder, kinds[0], args[0], args[3])
            for k, found in enumerate(expression(lanes), start=1):
                vectors.store(context, builder, kinds[k], args[k], args[3], found)
            return context.get_dummy_value()

        return types.none(x, a, b, types.intp), codegen

    @njit
    def run(x, a, b, place):
        through(x, a, b, place)

    def evaluate(numbers):
        numbers = np.asarray(numbers, np.float32)
        x = np.zeros(-(-len(numbers) // WIDTH) * WIDTH, np.float32)
        x[: len(numbers)] = numbers
        a, b = np.zeros_like(x), np.zeros_like(x)
        for place in range(0, len(x), WIDTH):
            run(x, a, b, place)
        return a[: len(numbers)], b[: len(numbers)]

    evaluate.run = run
    return evaluate


exp_both_ways = compiled(vectors.exp_both_ways)
tanh_and_slope = compiled(vectors.tanh_and_slope)


def spread_evenly(bound):
    """Numbers in [-bound, bound], thousands of them, as float32 has them."""
    return np.linspace(-bound, bound, 40_001, dtype=np.float32)


def relative_error(found, wanted):
    return np.max(np.abs(found - wanted) / np.abs(wanted))


def test_exp_both_ways():
    x = spread_evenly(80.0)
    up, down = exp_both_ways(x)
    assert relative_error(up, np.exp(x.astype(float))) < 1e-5
    assert relative_error(down, np.exp(-x.astype(float))) < 1e-5
    near = np.abs(x) <= 1
    assert relative_error(up[near], np.exp(x[near].astype(float))) < 5e-7
    assert [part[0] for part in exp_both_ways([0.0])] == [1.0, 1.0]


def test_tanh_and_its_slope():
    x = spread_evenly(SATURATED)[1:-1]
    tanh, slope = tanh_and_slope(x)
    assert np.abs(tanh - np.tanh(x.astype(float))).max() < 2e-7
    # Relative: an optimiser that divides by a gradient's size makes full steps of tiny wrong ones.
    assert relative_error(slope, 1 / np.cosh(x.astype(float)) ** 2) < 1e-5
    assert (slope > 0).all()


def test_a_saturated_tanh_has_a_slope_of_exactly_0():
    edge = np.float32(SATURATED)
    far = np.array([edge, np.nextafter(edge, np.float32(10)), 1e3, 1e30, np.inf], np.float32)
    for sign in (1, -1):
        tanh, slope = tanh_and_slope(sign * far)
        assert (slope == 0.0).all()
        assert (np.abs(tanh - sign) < 1e-7).all()
    below = np.nextafter(edge, np.float32(0))
    slope = tanh_and_slope([below, -below])[1]
    assert slope == pytest.approx(1 / np.cosh(9.0) ** 2, rel=1e-4)


def test_tanh_is_odd_and_0_at_0():
    x = spread_evenly(12.0)
    tanh, slope = tanh_and_slope(x)
    mirrored, same = tanh_and_slope(-x)
    assert np.array_equal(mirrored, -tanh)
    assert np.array_equal(same, slope)
    for zero in (0.0, -0.0):
        assert [part[0] for part in tanh_and_slope([zero])] == [0.0, 1.0]


def test_what_is_no_number_stays_none():
    assert np.isnan(tanh_and_slope([np.nan])[0]).all()
    assert np.isnan(exp_both_ways([np.nan])).all()


def test_operators_are_those_of_numbers():
    x = spread_evenly(3.0)
    shifted, divided = compiled(lambda v: ((v + 1.0) * v - 2.0, v / (v * v + 1.0)))(x)
    np.testing.assert_allclose(shifted, (x + 1.0) * x - 2.0, atol=1e-6)
    np.testing.assert_allclose(divided, x / (x * x + 1.0), rtol=1e-6)
    size, polynomial = compiled(lambda v: (v.size(), v.polynomial(2.0, -1.0, 0.5)))(x)
    assert np.array_equal(size, np.abs(x))
    np.testing.assert_allclose(polynomial, 2 * x**2 - x + 0.5, atol=2e-6)
    chosen, negated = compiled(lambda v: (v.at_least(1.0).choose(v, -7.0), -v))(x)
    assert np.array_equal(chosen, np.where(x >= 1, x, np.float32(-7)))
    assert np.array_equal(negated, -x)


def test_any_place_of_an_array_will_do_and_neighbours_stay():
    x = np.arange(WIDTH + 6, dtype=np.float32)
    for place in range(6):
        a, b = np.full_like(x, -1), np.full_like(x, -1)
        operators = compiled(lambda v: (v * 2.0, v + 1.0))
        operators.run(x, a, b, place)
        inside = slice(place, place + WIDTH)
        assert np.array_equal(a[inside], 2 * x[inside])
        assert np.array_equal(b[inside], x[inside] + 1)
        for found in (a, b):
            assert (np.delete(found, np.arange(len(x))[inside]) == -1).all()
