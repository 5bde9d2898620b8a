"""What can be known to be wrong before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from dgtrees.cli.output import check_output, check_picture
from dgtrees.errors import DataError, Problems

__all__ = ["check_files"]


def check_files(
    problems: Problems,
    *,
    reads: Iterable[str | None] = (),
    writes: Iterable[str | None] = (),
    pictures: Iterable[str | None] = (),
) -> None:
    """Collect what keeps files from being read or written; None stands for no file."""
    for path in reads:
        if path not in (None, "-"):
            with problems.collect():
                _check_input(str(path))
    for path in writes:
        if path is not None:
            with problems.collect():
                check_output(path)
    for path in pictures:
        if path is not None:
            with problems.collect():
                check_picture(path)


def _check_input(path: str) -> None:
    if not Path(path).exists():
        raise DataError(f"{path}: no such file: check the path")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path}: cannot be read: check its permissions")
