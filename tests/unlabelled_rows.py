"""Rows without labels for tests: blobs, and rows on a grid with many ties."""

import numpy as np


def blobs(rows=240, count=6, d=4, seed=0, spread=0.4):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=2.0, size=(count, d))
    return centres[np.arange(rows) % count] + spread * rng.normal(size=(rows, d))


def grid(rows=60, d=2, seed=0):
    """Distinct rows of small whole numbers."""
    found = np.unique(np.random.default_rng(seed).integers(0, 8, size=(4 * rows, d)), axis=0)
    return found[:rows].astype(np.float64)
