"""Code for one node of the gradient's two sweeps, for 16 rows at a time, written as LLVM vectors.

One function for every kind of decision and form, so that nothing is decided inside; `gradient`
says what they compute and in which order they are called.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from dgtrees.tree.vectors import exp_both_ways, load, spread, store, tanh_and_slope

__all__ = [
    "GIVEN",
    "LOCAL",
    "MARGIN",
    "PRODUCT",
    "SIGN",
    "SUM",
    "down_product",
    "down_product_given",
    "down_sum",
    "down_sum_given",
    "up_given",
    "up_given_lean",
    "up_margin",
    "up_margin_lean",
    "up_sign",
    "up_sign_lean",
]

MARGIN, SIGN, GIVEN = 0, 1, 2
SUM, PRODUCT, LOCAL = 0, 1, 2


def _decide(quantizer: int, a: Any, scale: Any, half_steepness: Any, window: Any) -> Any:
    """Decision and slope of an activation."""
    if quantizer == MARGIN:
        tanh, slope = tanh_and_slope(a * half_steepness)
        return scale * tanh, scale * half_steepness * slope
    if quantizer == SIGN:
        inside = (-a.size()).at_least(-1.0)
        return a.at_least(0.0).choose(scale, -scale), inside.choose(window, 0.0)
    return a, None


def _upward(quantizer: int, general: bool) -> Any:
    """Code for one node of the bottom-up sweep: slope, p_right, norm and value.

    `general` decisions weigh what lies below them: a leaf's weight is exp of the sum of decisions
    along its path, and z the norm of these weights. Otherwise p_right is linear in the decision,
    which holds for the product, and in complete trees for sums of decisions of one size.
    """

    @intrinsic
    def upward(  # type: ignore[no-untyped-def]
        _typing,
        activations,
        at,
        work,
        low,
        high,
        norm_low,
        norm_high,
        slope_at,
        right_at,
        norm_at,
        value_at,
        scale,
        half_steepness,
        window,
        lean,
    ):
        i, f = types.intp, types.float32
        signature = types.none(activations, i, work, i, i, i, i, i, i, i, i, f, f, f, f)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, array = signature.args, args[2]

            def read(index: int) -> Any:
                return load(context, builder, kinds[2], array, args[index])

            def write(index: int, lanes: Any) -> None:
                store(context, builder, kinds[2], array, args[index], lanes)

            scale, half_steepness, window, lean = (spread(builder, args[k]) for k in range(11, 15))
            a = load(context, builder, kinds[0], args[0], args[1])
            decision, slope = _decide(quantizer, a, scale, half_steepness, window)
            if general:
                up, down = exp_both_ways(decision)
                right = up * read(6)
                norm = right + down * read(5)
                p_right = right / norm
                write(9, norm)
            else:
                p_right = decision * lean + 0.5
            value = read(3) + p_right * (read(4) - read(3))
            if slope is not None:
                write(7, slope)
            write(8, p_right)
            write(10, value)
            return context.get_dummy_value()

        return signature, codegen

    return upward


def _downward(form: int, has_slope: bool) -> Any:
    """Code for one node of the top-down sweep: its gradient, and the reach of its children."""

    @intrinsic
    def downward(  # type: ignore[no-untyped-def]
        _typing,
        activations,
        at,
        work,
        low,
        high,
        slope_at,
        right_at,
        reach_at,
        reach_low,
        reach_high,
        root_at,
    ):
        i = types.intp
        signature = types.none(activations, i, work, i, i, i, i, i, i, i, i)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, array = signature.args, args[2]

            def read(index: int) -> Any:
                return load(context, builder, kinds[2], array, args[index])

            low, high, reach = read(3), read(4), read(7)
            right = reach * read(6)
            left = reach - right
            if form == SUM:
                mean = read(10)
                gradient = right * (high - mean) - left * (low - mean)
            else:
                gradient = reach * (high - low) * 0.5
            if has_slope:
                gradient = gradient * read(5)
            store(context, builder, kinds[2], array, args[8], left)
            store(context, builder, kinds[2], array, args[9], right)
            store(context, builder, kinds[0], args[0], args[1], gradient)
            return context.get_dummy_value()

        return signature, codegen

    return downward


up_margin, up_sign, up_given = (_upward(q, True) for q in (MARGIN, SIGN, GIVEN))
up_margin_lean, up_sign_lean, up_given_lean = (_upward(q, False) for q in (MARGIN, SIGN, GIVEN))
down_sum, down_product = _downward(SUM, True), _downward(PRODUCT, True)
down_sum_given, down_product_given = _downward(SUM, False), _downward(PRODUCT, False)
