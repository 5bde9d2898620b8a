"""What a fit shows while it runs: a progress bar, and scikit-learn's callbacks where they exist."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


class _NoCallbacks:
    """Stands in where scikit-learn has no callbacks yet."""


def _unchanged(method: _Method) -> _Method:
    """Leave the method as it is."""
    return method


CallbackSupportMixin = _NoCallbacks
with_callbacks = _unchanged
if not TYPE_CHECKING:  # scikit-learn has no types: a method that it decorates would be Any
    with suppress(ImportError):  # scikit-learn 1.9 and later; experimental there
        from sklearn.callback import CallbackSupportMixin, with_callbacks

__all__ = ["CallbackSupportMixin", "EpochTasks", "progress_bar", "tell", "with_callbacks"]

EpochCallback = Callable[[int, int, dict[str, float]], "bool | None"]


@contextmanager
def progress_bar(
    show: bool, label: str, unit: str = "epoch"
) -> Iterator[tuple[EpochCallback, ...]]:
    """Callbacks that draw a bar on a terminal's standard error; none when `show` is false."""
    if not show:
        yield ()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[metrics]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        # How many there will be is not known before the first is done.
        task = progress.add_task(label, total=None, count="starting", metrics="")

        def advance(epoch: int, n_epochs: int, metrics: dict[str, float]) -> None:
            text = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
            count = f"{unit} {epoch}/{n_epochs}"
            progress.update(task, completed=epoch, total=n_epochs, count=count, metrics=text)

        yield (advance,)


def tell(text: str) -> None:
    """Show lines where the progress bar is shown."""
    sys.stderr.write(f"{text}\n")


class EpochTasks:
    """Reports every epoch to scikit-learn's callbacks as a subtask of fit."""

    def __init__(self, estimator: Any, n_epochs: int, state: Callable[[], dict[str, Any]]) -> None:
        self.estimator, self.state = estimator, state
        self.root = estimator._init_callback_context(max_subtasks=n_epochs)
        self.root.call_on_fit_task_begin(estimator=estimator)
        self.open = False
        self._begin()

    def _begin(self) -> None:
        self.open = True
        self.epoch = self.root.subcontext(task_name="epoch")
        self.epoch.call_on_fit_task_begin(
            estimator=self.estimator, reconstruction_attributes=self.state
        )

    def __call__(self, epoch: int, n_epochs: int, metrics: dict[str, float]) -> bool:
        """End an epoch's task and begin the next; True if a callback wants to stop."""
        stop = self.epoch.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self.state
        )
        self.open = False
        if epoch < n_epochs and not stop:
            self._begin()
        return bool(stop)

    def close(self) -> None:
        """End the fit task, and the epoch that stopping early left unfinished."""
        if self.open:
            self.epoch.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=self.state
            )
        self.root.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self.state
        )
