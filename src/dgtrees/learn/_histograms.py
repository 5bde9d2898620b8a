"""Sums of gradients by column and bin, and the split that they favour. Compiled.

A histogram is float32 (columns, bins * width): for every bin the gradients of one or several
channels, and the curvature last. Rows are named by their numbers; `rows[first:last]` are those of a
leaf.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit

__all__ = ["best_split", "clipped_gain", "fill", "leaf_value", "separate"]


@njit(nogil=True, cache=True)
def fill(bins, rows, first, last, gradient, curvature, columns, n_bins, histogram):
    """Sums over the rows of a leaf."""
    channels = gradient.shape[1]
    width = channels + 1
    for c in range(columns.shape[0]):
        histogram[columns[c], : n_bins[columns[c]] * width] = 0.0
    if channels == 1:
        for i in range(first, last):
            row = rows[i]
            slope, curve = gradient[row, 0], curvature[row]
            for c in range(columns.shape[0]):
                column = columns[c]
                at = 2 * np.intp(bins[row, column])
                histogram[column, at] += slope
                histogram[column, at + 1] += curve
        return
    for i in range(first, last):
        row = rows[i]
        for c in range(columns.shape[0]):
            column = columns[c]
            at = width * np.intp(bins[row, column])
            for s in range(channels):
                histogram[column, at + s] += gradient[row, s]
            histogram[column, at + channels] += curvature[row]


@njit(nogil=True, cache=True)
def separate(histograms, parent, child, smaller_is_child, columns, n_bins, width):
    """From a parent's sums and its smaller child's, in the child's place, those of both children.

    The left child keeps the parent's place.
    """
    for c in range(columns.shape[0]):
        column = columns[c]
        size = n_bins[column] * width
        one, two = histograms[parent, column], histograms[child, column]
        if smaller_is_child:
            for at in range(size):
                one[at] -= two[at]
        else:
            for at in range(size):
                smaller = two[at]
                two[at] = one[at] - smaller
                one[at] = smaller


@njit(nogil=True, cache=True)
def leaf_value(gradient, curvature, ridge, low, high):
    """The Newton step of a leaf, kept between bounds."""
    return min(max(-gradient / (curvature + ridge), low), high)


@njit(nogil=True, cache=True)
def clipped_gain(gradient, curvature, ridge, value):
    """Twice what a leaf of this value takes from the loss."""
    return -2.0 * gradient * value - (curvature + ridge) * value * value


@njit(nogil=True, cache=True)
def _best_of_one(histogram, column, n_bins, total, rows, least_rows, ridge, sign, low, high):
    """Gain and bin of a column's best split, for one channel."""
    G, H = total[0], total[1]
    per_curve = rows / H
    gain, best, left, curve = 0.0, -1, 0.0, 0.0
    bounded = sign != 0 or low > -np.inf or high < np.inf
    for at in range(n_bins - 1):
        here = histogram[column, 2 * at + 1]
        if here == 0.0:  # an empty bin splits as the last one did
            continue
        left += histogram[column, 2 * at]
        curve += here
        if curve * per_curve < least_rows:
            continue
        rest = H - curve
        if rest * per_curve < least_rows:
            break
        if bounded:
            a = leaf_value(left, curve, ridge, low, high)
            b = leaf_value(G - left, rest, ridge, low, high)
            if (b - a) * sign < 0.0:
                continue
            found = clipped_gain(left, curve, ridge, a) + clipped_gain(G - left, rest, ridge, b)
        else:
            right = G - left
            found = left * left / (curve + ridge) + right * right / (rest + ridge)
        if found > gain:
            gain, best = found, at
    return gain, best


@njit(nogil=True, cache=True)
def _best_of_many(histogram, column, n_bins, total, rows, least_rows, ridge, left):
    """Gain and bin of a column's best split, over all channels together."""
    channels = total.shape[0] - 1
    H = total[channels]
    per_curve = rows / H
    gain, best, curve = 0.0, -1, 0.0
    left[:] = 0.0
    for at in range(n_bins - 1):
        a = b = 0.0
        for s in range(channels):
            left[s] += histogram[column, at * (channels + 1) + s]
            right = total[s] - left[s]
            a += left[s] * left[s]
            b += right * right
        curve += histogram[column, at * (channels + 1) + channels]
        if curve * per_curve < least_rows:
            continue
        rest = H - curve
        if rest * per_curve < least_rows:
            break
        found = a / (curve + ridge) + b / (rest + ridge)
        if found > gain:
            gain, best = found, at
    return gain, best


@njit(nogil=True, cache=True)
def best_split(histogram, columns, n_bins, total, rows, least_rows, ridge, signs, bounds, room):
    """Gain over no split, column and bin of the best split; column -1 if there is none."""
    channels = total.shape[0] - 1
    gain, column, bin_ = 0.0, -1, -1
    if total[channels] <= 0.0:
        return gain, column, bin_
    for c in range(columns.shape[0]):
        j = columns[c]
        if channels == 1:
            found, at = _best_of_one(
                histogram, j, n_bins[j], total, rows, least_rows, ridge, signs[j],
                bounds[0], bounds[1],
            )  # fmt: skip
        else:
            found, at = _best_of_many(histogram, j, n_bins[j], total, rows, least_rows, ridge, room)
        if at >= 0 and found > gain:
            gain, column, bin_ = found, j, at
    none = 0.0
    if channels == 1:
        value = leaf_value(total[0], total[1], ridge, bounds[0], bounds[1])
        none = clipped_gain(total[0], total[1], ridge, value)
    else:
        for s in range(channels):
            none += total[s] * total[s]
        none /= total[channels] + ridge
    return gain - none, column, bin_
