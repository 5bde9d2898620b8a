"""What commands say and write: a summary, JSON, files that are complete or not there."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dgtrees.cli.terminal import json_text, say, watched
from dgtrees.writing import check_target, whole_file

__all__ = [
    "check_output",
    "check_picture",
    "load_fitted",
    "load_model",
    "report",
    "said",
    "save_model",
    "save_picture",
    "writing",
]


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
    with whole_file(path, text=not binary) as stream:
        yield stream


def check_output(path: str) -> None:
    """Refuse, before any work is done, a path that nothing can be written to."""
    if path != "-":
        check_target(path)


def load_model(path: str) -> Any:
    """The model of a file, or of standard input for "-"."""
    import dgtrees

    if path != "-":
        return dgtrees.load(path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "standard input")
        file.write_bytes(sys.stdin.buffer.read())
        return dgtrees.load(file)


def load_fitted(path: str, command: str, instead: str, bare: bool = False) -> Any:
    """The estimator of a file that dgt fit wrote; `instead` is what Python has for others.

    A `bare` model, which knows no table, is enough for those that read none.
    """
    from dgtrees.bandit.named_policy import NamedPolicy
    from dgtrees.bandit.online_tree import OnlineTree
    from dgtrees.model.model import Model

    fitted = load_model(path)
    policy = isinstance(fitted, (NamedPolicy, OnlineTree))
    if policy or (isinstance(fitted, Model) and not bare):
        raise ValueError(
            f"dgt {command} takes a model that dgt fit wrote, got a {type(fitted).__name__}: in "
            f"Python, {instead}"
        )
    return fitted


def save_model(model: Any, path: str) -> None:
    """Write a model file, or the same bytes to standard output for "-"."""
    if path != "-":
        model.save(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.dgt")
        model.save(file)
        sys.stdout.buffer.write(file.read_bytes())
    sys.stdout.flush()


def check_picture(path: str) -> None:
    """Refuse, before any work is done, a picture that cannot be drawn or written."""
    device = Path(path).exists() and not Path(path).is_file()  # which gets a PNG, or is a folder
    if _picture_format(path) is None and not device:
        raise ValueError(f"--png must end with .png, .svg or .pdf, got {path!r}")
    check_target(path)
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            f"--png {path} needs matplotlib, which is not installed: "
            'pip install "dgtrees[plot]", or leave --png out'
        ) from error
    mpl.use("Agg")


def save_picture(figure: Any, path: str, dpi: int) -> None:
    """Write a figure in the format that the path's ending names."""
    content = io.BytesIO()  # a picture is not written in one go from front to end
    figure.savefig(content, format=_picture_format(path) or "png", dpi=dpi)
    with whole_file(path) as stream:
        stream.write(content.getbuffer())


def _picture_format(path: str) -> str | None:
    ending = Path(path).suffix.lower()[1:]
    return ending if ending in ("png", "svg", "pdf") else None
