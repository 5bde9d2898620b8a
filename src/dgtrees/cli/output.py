"""What commands say and write: a summary, JSON, files that are complete or not there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dgtrees.errors import DataError

__all__ = ["report", "said", "save_model", "writing"]


def report(result: dict[str, Any], text: str, *, as_json: bool, quiet: bool, clear: bool) -> None:
    """Print a command's result; on standard error where standard output holds data (not clear)."""
    stream = sys.stdout if clear else sys.stderr
    if as_json:
        print(json.dumps(result, ensure_ascii=False), file=stream)
    elif not quiet:
        print(text, file=stream)


def said(number: float | None, digits: int = 4) -> str:
    """A score as text."""
    return "-" if number is None else f"{number:.{digits}g}"


@contextmanager
def writing(path: str, binary: bool = False) -> Iterator[Any]:
    """A stream to a file that appears when the block is done, or to standard output for "-"."""
    if path == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no folder {target.parent}: create it first")
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


def save_model(model: Any, path: str) -> None:
    """Write a model file, or the same bytes to standard output for "-"."""
    if path != "-":
        model.save(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.dgt")
        model.save(file)
        with file.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.buffer.flush()
