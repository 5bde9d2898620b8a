"""Losses as functions of predictions and targets, in NumPy: for validation, and of one's own.

The compiled engine has the four losses that are known by name. A callable takes predictions and
targets, (rows, outputs) or classes (rows,), in one of two forms:

* on NumPy arrays, returning one number per row and the gradient (rows, outputs) of their sum with
  respect to the predictions: losses may compare the rows of a batch with each other;
* on torch tensors, returning one number per row, or one for the batch: torch differentiates it, and
  is imported for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

__all__ = ["LOSS_NAMES", "Loss", "differentiated", "gradient_of_rows", "loss_of_rows"]

LOSS_NAMES = ("squared", "huber", "absolute", "cross_entropy", "shares")
"""The last is cross-entropy for targets that are class shares, (rows, classes)."""

Loss = Callable[..., Any]

_RULE = "a loss must return (losses, gradient) as arrays, or losses as a torch tensor"


def loss_of_rows(
    name: str, prediction: np.ndarray, target: np.ndarray, smoothing: float = 0.0
) -> np.ndarray:
    """A named loss of every row, averaged over outputs, (rows,).

    >>> loss_of_rows("huber", np.array([[3.0]]), np.array([[0.5]]))
    array([2.])
    """
    if name == "cross_entropy":
        log_p = log_softmax(prediction, axis=1)
        picked = log_p[np.arange(len(target)), target]
        return -(1.0 - smoothing) * picked - smoothing * log_p.mean(axis=1)
    if name == "shares":
        return -(log_softmax(prediction, axis=1) * target).sum(axis=1)
    error = prediction - target
    if name == "squared":
        return np.square(error).mean(axis=1)
    size = np.abs(error)
    if name == "absolute":
        return size.mean(axis=1)
    # Huber's corner lies at one standardised unit.
    return np.where(size <= 1.0, 0.5 * size * size, size - 0.5).mean(axis=1)


def gradient_of_rows(
    name: str, prediction: np.ndarray, target: np.ndarray, smoothing: float = 0.0
) -> np.ndarray:
    """Gradient of `loss_of_rows` with respect to every row's prediction, (rows, outputs)."""
    outputs = prediction.shape[1]
    if name == "cross_entropy":
        wanted = np.full(prediction.shape, smoothing / outputs)
        wanted[np.arange(len(target)), target] += 1.0 - smoothing
        return softmax(prediction, axis=1) - wanted
    if name == "shares":
        return softmax(prediction, axis=1) - target
    error = prediction - target
    if name == "squared":
        return 2.0 * error / outputs
    slope = np.sign(error) if name == "absolute" else np.clip(error, -1.0, 1.0)
    return slope / outputs


def differentiated(loss: Loss) -> Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]:
    """A user's loss as a function of arrays that returns losses and their gradient.

    What it returns for arrays says which form it has; torch is imported only where it needs it.
    """

    form: Any = None

    def evaluate(prediction: np.ndarray, target: np.ndarray) -> tuple[Any, Any]:
        nonlocal form
        if form is not None:
            return form(loss, prediction, target)
        form, refused = _form_of(loss, prediction, target)
        try:
            return form(loss, prediction, target)
        except Exception as error:
            if refused is None:
                raise
            raise error from refused  # a mistake in a loss of arrays may be all there is to it

    return evaluate


def _form_of(loss: Loss, prediction: np.ndarray, target: np.ndarray) -> tuple[Any, Any]:
    """The form a loss has, and what it said of arrays if it refused them."""
    try:
        found = loss(prediction.copy(), target.copy())
    except Exception as error:  # whatever torch's functions say of arrays
        return _torch_form, error
    is_pair = isinstance(found, tuple) and len(found) == 2
    return (_numpy_form if is_pair else _torch_form), None


def _numpy_form(
    loss: Loss, prediction: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    losses, gradient = (np.asarray(part) for part in loss(prediction, target))
    _check_losses(losses.shape, len(prediction))
    if gradient.shape != prediction.shape:
        raise ValueError(
            f"the gradient of a loss must have the shape of the predictions, {prediction.shape}, "
            f"got {gradient.shape}"
        )
    return (losses.mean(axis=1) if losses.ndim == 2 else losses), gradient


def _torch_form(
    loss: Loss, prediction: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"{_RULE}, which needs torch: return (losses, gradient), or pip install "
            '"dgtrees[torch]"'
        ) from error
    with torch.enable_grad():
        given = torch.from_numpy(prediction).requires_grad_()
        losses = loss(given, torch.from_numpy(target))
        if not isinstance(losses, torch.Tensor):
            raise ValueError(f"{_RULE}, got {type(losses).__name__}")
        if losses.ndim == 0:  # a mean over the batch, whose gradient is a row's over their number
            (gradient,) = torch.autograd.grad(losses, given)
            return losses.detach().numpy(), gradient.numpy() * len(prediction)
        losses = losses.mean(dim=1) if losses.ndim == 2 else losses
        _check_losses(losses.shape, len(prediction))
        (gradient,) = torch.autograd.grad(losses.sum(), given)
    return losses.detach().numpy(), gradient.numpy()


def _check_losses(shape: tuple[int, ...], rows: int) -> None:
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ValueError(
            f"a loss must return one number per row, ({rows},), got shape {tuple(shape)}"
        )
