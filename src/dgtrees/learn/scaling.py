"""Centre and scale of columns, by which everything is standardised before training. NumPy only."""

from __future__ import annotations

import numpy as np

__all__ = ["moments"]


def moments(
    values: np.ndarray, weight: np.ndarray, scaling: str = "standard"
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of every column and its scale, 0 for columns that do not vary."""
    largest = np.abs(values).max(axis=0)
    unit = np.ones_like(largest)
    if largest.size and (largest.max() > 1e100 or largest[largest > 0].min(initial=1.0) < 1e-100):
        unit = np.where(largest > 0, largest, 1.0)  # squares of such numbers would overflow
        values = values / unit
    share = weight / weight.sum()
    # einsum, not a matrix product: its order of summation does not depend on BLAS's threads.
    center = np.einsum("n,nd->d", share, values)
    deviation = values - center
    spread = np.sqrt(np.einsum("n,nd,nd->d", share, deviation, deviation))
    # A constant column's deviation is rounding error, not a scale.
    constant = spread <= 1e-12 * np.abs(values).max(axis=0)
    if scaling != "standard":
        # A normal variable's mean absolute deviation is sqrt(2 / pi) of its standard deviation.
        absolute = np.einsum("n,nd->d", share, np.abs(deviation)) * np.sqrt(np.pi / 2.0)
        absolute = np.minimum(absolute, spread)
        spread = absolute if scaling == "absolute" else np.sqrt(absolute * spread)
    center = np.where(constant, values[0], center)
    return center * unit, np.where(constant, 0.0, spread * unit)
