"""Progress on a terminal's standard error; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dgtrees.cli.terminal import plain

__all__ = ["batches_bar", "download_bar"]


def _progress(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
    )


@contextmanager
def batches_bar(total: int, show: bool, what: str = "rows") -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows (or trials) done since."""
    if not show:
        yield lambda done: None
        return
    from rich.progress import MofNCompleteColumn

    with _progress(MofNCompleteColumn()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, advance=done)


@contextmanager
def download_bar(name: str, show: bool) -> Iterator[Callable[[int, int | None], None] | None]:
    """A function to call with the bytes that are there and the bytes there will be."""
    if not show:
        yield None
        return
    from rich.progress import DownloadColumn

    with _progress(DownloadColumn()) as bar:
        task = bar.add_task(plain(name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
