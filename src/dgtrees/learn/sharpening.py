"""The exponent that makes class shares as sure as they deserve.

Trees that differ much agree on little: the mean of their shares is right more often than it says.
Powers of the shares, divided by their sum, keep the order of the classes and so every decision; by
which exponent, rows tell that the trees have not seen.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

__all__ = ["fit_exponent"]

_LEAST, _MOST = 0.25, 8.0


def fit_exponent(shares: np.ndarray, label: np.ndarray, weight: np.ndarray) -> float:
    """Exponent by which powers of the shares have the least log-loss.

    Half the square of the exponent's logarithm is added to the rows' sum: few rows, or rows that
    are all right, say little.

    Parameters
    ----------
    shares : ndarray of shape (rows, classes)
        What trees say of rows they have not seen.
    label : ndarray of shape (rows,)
        Number of the true class.
    weight : ndarray of shape (rows,)

    Examples
    --------
    >>> timid = np.repeat([[0.6, 0.4]], 1000, axis=0)
    >>> label = (np.arange(1000) % 10 == 0).astype(int)  # one in ten is of the second class
    >>> exponent = fit_exponent(timid, label, np.ones(1000))
    >>> powers = timid[0] ** exponent
    >>> float(np.round(powers[0] / powers.sum(), 2))
    0.9
    """
    scores = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    own = scores[np.arange(len(label)), label]
    # Weights that add up to less than one per row say nothing about a number of rows.
    mass = weight * max(1.0, len(weight) / weight.sum())

    def loss(log_exponent: float) -> float:
        exponent = np.exp(log_exponent)
        lost = logsumexp(exponent * scores, axis=1) - exponent * own
        return float(mass @ lost + 0.5 * log_exponent**2)

    found = minimize_scalar(
        loss, bounds=(np.log(_LEAST), np.log(_MOST)), method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(found.x))
