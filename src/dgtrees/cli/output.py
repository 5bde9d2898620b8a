"""What commands say and write: a summary, JSON, files that are complete or not there."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dgtrees.cli.terminal import json_text, say, watched
from dgtrees.errors import DataError

__all__ = ["check_output", "load_model", "report", "said", "save_model", "writing"]


def report(result: dict[str, Any], text: str, *, as_json: bool, quiet: bool, clear: bool) -> None:
    """Print a command's result; on standard error where standard output holds data (not clear)."""
    stream = sys.stdout if clear else sys.stderr
    if as_json:
        say(json_text(result), stream)
    elif not quiet:
        say(text, stream)


def said(number: float | None, digits: int = 4) -> str:
    """A score as text."""
    return "-" if number is None else f"{number:.{digits}g}"


@contextmanager
def writing(path: str, binary: bool = False) -> Iterator[Any]:
    """A stream to a file that appears when the block is done, or to standard output for "-"."""
    if path == "-":
        yield sys.stdout.buffer if binary else watched(sys.stdout)
        sys.stdout.flush()
        return
    check_output(path)
    target = Path(path).resolve()  # what a link points to is replaced, not the link
    if target.exists() and not target.is_file():  # a device or a pipe is written to
        with open(target, "wb" if binary else "w") as stream:
            yield stream
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        os.chmod(temporary, 0o644)
        options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
        with os.fdopen(handle, "wb" if binary else "w", **options) as stream:
            yield stream
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def check_output(path: str) -> None:
    """Refuse, before any work is done, a path that nothing can be written to."""
    target = Path(path)
    if path == "-":
        return
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no folder {target.parent}: create it first")
    if target.is_dir():
        raise DataError(f"{path}: must be a file, and is a folder: add a file name")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DataError(f"{path}: cannot be written: check its permissions")


def load_model(path: str) -> Any:
    """The model of a file, or of standard input for "-"."""
    import dgtrees

    if path != "-":
        return dgtrees.load(path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "standard input")
        file.write_bytes(sys.stdin.buffer.read())
        return dgtrees.load(file)


def save_model(model: Any, path: str) -> None:
    """Write a model file, or the same bytes to standard output for "-"."""
    with tempfile.TemporaryDirectory() as folder, writing(path, binary=True) as output:
        file = Path(folder, "model.dgt")
        model.save(file)
        with file.open("rb") as stream:
            shutil.copyfileobj(stream, output)
