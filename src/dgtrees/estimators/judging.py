"""How good predictions are, beside what knowing nothing would give: one table for both tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

__all__ = ["calibration_gap", "judge_classes", "judge_values"]

_BINS = 10


def judge_values(truth: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Errors of predicted numbers; `mean_rmse` is that of always predicting the mean of `truth`.

    >>> judge_values(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))["mae"]
    0.3333333333333333
    """
    error = predicted - truth
    rmse, spread = _root_mean_square(error), _root_mean_square(truth - truth.mean())
    return {
        "rows": len(truth),
        "rmse": rmse,
        "mean_rmse": spread,
        "mae": float(np.abs(error).mean()),
        "r2": 1.0 - (rmse / spread) ** 2 if spread > 0 else None,
        "bias": float(error.mean()),
    }


def judge_classes(
    truth: np.ndarray, probabilities: np.ndarray, predicted: np.ndarray, classes: Sequence[Any]
) -> dict[str, Any]:
    """Scores of class numbers and probabilities.

    Parameters
    ----------
    truth : int ndarray of shape (rows,)
        Numbers of classes; -1 for one that the model does not know, which no prediction can meet.
    probabilities : ndarray of shape (rows, classes)
    predicted : int ndarray of shape (rows,)
    classes : sequence
        Names.

    Returns
    -------
    dict
        `majority_accuracy` is that of always predicting the commonest class of these rows,
        `shares_log_loss` that of their shares; a score that these rows do not allow is None.
        `auc` of more than two classes is the mean over classes of each against all others.
    """
    known = truth >= 0
    counts = np.bincount(truth[known], minlength=len(classes))
    present = np.flatnonzero(counts)
    right = predicted == truth
    own = truth[known]
    chance = probabilities[known][np.arange(len(own)), own]
    shares = counts[present] / max(counts.sum(), 1)
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, (own, predicted[known]), 1)
    recall = confusion[present, present] / counts[present]
    return {
        "rows": len(truth),
        "unknown_rows": int((~known).sum()),
        "accuracy": float(right.mean()),
        "majority_accuracy": float(counts.max() / len(truth)),
        "majority_class": classes[int(counts.argmax())],
        "balanced_accuracy": float(recall.mean()) if len(present) else None,
        "auc": _auc(own, probabilities[known], present),
        # A probability of exactly 0 would make the mean infinite: count it as the smallest number.
        "log_loss": float(-np.log(np.maximum(chance, 1e-15)).mean()) if len(own) else None,
        "shares_log_loss": float(-(shares * np.log(shares)).sum()) if len(own) else None,
        "calibration_gap": calibration_gap(right, probabilities.max(axis=1)),
        "classes": list(classes),
        "confusion": confusion.tolist(),
    }


def calibration_gap(right: np.ndarray, confidence: np.ndarray) -> float:
    """Mean gap between what is said and what comes true, over ten bins of equally many rows.

    >>> calibration_gap(np.array([True, False] * 50), np.full(100, 0.75))
    0.25
    """
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, min(_BINS, len(order)))
    gaps = [len(part) * abs(right[part].mean() - confidence[part].mean()) for part in parts]
    return float(sum(gaps) / len(order))


def _auc(truth: np.ndarray, probabilities: np.ndarray, present: np.ndarray) -> float | None:
    if len(present) < 2:
        return None
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(truth, probabilities[:, 1]))
    return float(np.mean([roc_auc_score(truth == k, probabilities[:, k]) for k in present]))


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
