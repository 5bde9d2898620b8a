"""Run the examples of a page, and compare what the page says with what they say now.

* What a ``python`` block prints is the ``text`` block that follows it.
* Lines of a ``console`` block that begin with ``$`` are commands, followed by their output.
* Between ``<!-- options: dgt fit -->`` and ``<!-- end -->`` is a table of a command's options.
* A picture that a block saves as ``tree.png`` is the one that the page shows as ``[..]tree.png``.

A block stays as it is behind ``<!-- not run: a reason -->``, and behind ``<!-- needs data: mnist
-->`` or ``<!-- needs program: cc -->`` where there is no such thing. Blocks of a page share one
namespace and the current folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from typer.main import get_command

from dgtrees.cli.app import app, run
from dgtrees.paper import catalog

__all__ = [
    "ARITHMETIC",
    "ROOT",
    "arithmetic",
    "differences",
    "figure_statement",
    "fresh",
    "pages",
    "picture",
    "statement_of",
    "unrun",
    "without_seconds",
]

ROOT = Path(__file__).resolve().parents[1]
ARITHMETIC = ROOT / "docs" / "arithmetic.txt"
"""Arithmetics under which examples have been found to print what the pages say, one a line."""

MARK = r"(?:<!-- (?P<mark>not run|needs data|needs program): (?P<what>[^\n]*) -->\n+)?"
PYTHON = r"```python\n(?P<code>.*?)```(?P<after>\n\n```text\n.*?```)?"
CONSOLE = r"```console\n(?P<lines>.*?)```"
OPTIONS = r"<!-- options: (?P<command>[\w ]+) -->.*?<!-- end -->"
BLOCK = re.compile(f"{MARK}(?:{PYTHON}|{CONSOLE}|{OPTIONS})", re.DOTALL)


def pages() -> list[Path]:
    """Pages with something to run, README first."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in every if BLOCK.search(page.read_text())]


def unrun(page: Path) -> list[str]:
    """Reasons of the blocks that are never run."""
    found = BLOCK.finditer(page.read_text())
    return [match["what"] for match in found if match["mark"] == "not run"]


def picture(page: Path, name: str) -> Path:
    """The file that the page shows where an example saves `name`."""
    (link,) = set(re.findall(rf"\]\(((?:\w+/)*(?:{page.stem}-)?{name})\)", page.read_text()))
    return page.parent / link


def fresh(page: Path) -> tuple[str, dict[str, str]]:
    """The page as it should be, and what the pictures state that its blocks have saved here."""
    text, stated = page.read_text(), {}
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        if not _can_run(match["mark"], match["what"]):
            return match[0]
        mark = f"<!-- {match['mark']}: {match['what']} -->\n\n" if match["mark"] else ""
        if match["command"] is not None:
            table = _option_table(match["command"].split())
            return f"{mark}<!-- options: {match['command']} -->\n{table}\n<!-- end -->"
        if match["lines"] is not None:
            return f"{mark}```console\n{_console(match['lines'])}```"
        printed = io.StringIO()
        above = "\n" * text.count("\n", 0, match.start("code"))  # so that errors name the line
        with contextlib.redirect_stdout(printed):
            exec(compile(above + match["code"], str(page), "exec"), namespace)
        plt.close("all")
        shown = printed.getvalue().strip()
        after = f"\n\n```text\n{shown}\n```" if shown else ""
        return f"{mark}```python\n{match['code']}```{after}"

    here = {"COLUMNS": "100", "DGTREES_DATA": str(catalog.data_folder())}
    with mock.patch.dict(os.environ, here), _stating(stated), mpl.rc_context():
        mpl.use("Agg")
        return BLOCK.sub(block, text), stated


def _can_run(mark: str | None, what: str) -> bool:
    if mark == "needs data":
        return catalog.status(what).present
    if mark == "needs program":
        return shutil.which(what) is not None
    return mark is None


def _console(lines: str) -> str:
    """A console block with the output of its commands."""
    text = ""
    for line in lines.splitlines():
        if line.startswith("$ "):
            text += f"{line}\n{_output(line[2:])}"
    return text


def _output(line: str) -> str:
    """What a command prints. `dgt` alone runs in this process: starting one takes seconds."""
    if re.match(r"dgt [^|<>;&]*$", line):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            run(shlex.split(line)[1:])
        return printed.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PATH": path},
    )
    return done.stdout


def _option_table(path: list[str]) -> str:
    """A command's arguments and options as a Markdown table."""
    command: Any = get_command(app)
    for name in path[1:]:
        command = command.commands[name]
    lines = ["| | |", "|---|---|"]
    for parameter in command.params:
        if parameter.name in ("help", "install_completion", "show_completion"):
            continue
        if parameter.param_type_name == "argument":
            name = f"`{parameter.name.upper()}`"
        else:
            name = ", ".join(f"`{option}`" for option in parameter.opts + parameter.secondary_opts)
        default = parameter.default
        shown = default not in (None, False, ()) and not callable(default)
        lines.append(f"| {name} | {parameter.help}{f' Default: `{default}`.' if shown else ''} |")
    return "\n".join(lines)


@contextlib.contextmanager
def _stating(stated: dict[str, str]) -> Iterator[None]:
    """Note what every figure says that is saved."""
    save, unnamed = Figure.savefig, []

    def savefig(figure: Figure, target: Any, **options: Any) -> None:
        save(figure, target, **options)
        if isinstance(target, (str, Path)):
            stated[Path(target).name] = figure_statement(figure)
        else:  # the command's, which writes its files itself
            unnamed.append(figure_statement(figure))

    with mock.patch.object(Figure, "savefig", savefig):
        yield
    written = sorted(Path().glob("*.png"), key=lambda path: path.stat().st_mtime_ns)
    others = [path.name for path in written if path.name not in stated]
    stated.update(zip(others, unnamed, strict=True))


def figure_statement(figure: Figure) -> str:
    """A figure in words: titles, names, texts, and where its curves end."""
    lines = []
    for ax in figure.axes:
        lines += [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
        boxes = [patch for patch in ax.patches if str(patch.get_gid()).startswith("node ")]
        if boxes:  # plot_tree's
            leaves = sum(str(text.get_gid()).startswith("leaf ") for text in ax.texts)
            notes = [text.get_text() for text in ax.texts if text.get_gid() == "cut"]
            leaves += sum(int(n) for note in notes for n in re.findall(r"not drawn: (\d+)", note))
            levels = len({round(box.get_x(), 3) for box in boxes})
            lines.append(f"drawn: {leaves} leaves, {levels} levels of decisions")
        lines += [text.get_text() for text in ax.texts]
        for line in ax.lines:
            if not str(line.get_label()).startswith("_"):
                lines.append(f"{line.get_label()}: {float(line.get_ydata()[-1]):.4g}")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


NUMBER = re.compile(r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?%?)")
SECONDS = re.compile(r"\bin [\d.]+ s\b|\b\d:\d\d:\d\d\b")


def statement_of(path: Path) -> str:
    """What a picture of the pages states."""
    with Image.open(path) as image:
        return image.info.get("Description", "")


def without_seconds(line: str) -> str:
    """A line, but for how long something took."""
    return SECONDS.sub("", line)


def differences(said: str, found: str) -> list[str]:
    """Lines that are not the same but for spaces, seconds, and the rounding of figures."""
    old, new = said.splitlines(), found.splitlines()
    if len(old) != len(new):
        return list(unified_diff(old, new, "said", "found", lineterm="", n=0))
    pairs = zip(old, new, strict=True)
    return [line for a, b in pairs if not _alike(a, b) for line in (f"-{a}", f"+{b}")]


def _alike(said: str, found: str) -> bool:
    (old, new) = (NUMBER.split(" ".join(without_seconds(line).split())) for line in (said, found))
    if old[::2] != new[::2]:
        return False
    return all(_near(a, b) for a, b in zip(old[1::2], new[1::2], strict=True))


def _near(said: str, found: str) -> bool:
    """Counts are equal; other figures within 1 %, or one unit of the last digit shown."""
    if said == found:
        return True
    if re.fullmatch(r"[\d,]+", said + found):
        return False
    old, new = (float(figure.replace(",", "").rstrip("%")) for figure in (said, found))
    digits, _, power = said.rstrip("%").partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return math.isclose(old, new, rel_tol=0.01, abs_tol=1.001 * unit)


SHAPES = (400, 60), (60, 48), (48, 20)
"""Of rows and two layers, in `arithmetic`."""


def arithmetic() -> str:
    """How this machine and its packages round: a name for the end of a short training.

    Training amplifies the last bit, so that processors with other vector units, and other versions
    of torch, learn other trees. Nothing of dgtrees is in it, whose own changes are to be seen.
    """
    import torch
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _last_bits(torch)


def _last_bits(torch: Any) -> str:
    random = torch.Generator().manual_seed(0)
    X, first, second = (torch.randn(shape, generator=random) for shape in SHAPES)
    y = X[:, : SHAPES[2][1]].argmax(dim=1)
    for step in range(100):
        rows = torch.arange(step, step + 128) % len(X)
        first.requires_grad_(), second.requires_grad_()
        scores = (X[rows] @ first).tanh() @ second
        loss = torch.nn.functional.cross_entropy(scores, y[rows])
        slopes = torch.autograd.grad(loss + first.std() + second.abs().mean(), (first, second))
        first, second = (w.detach() - 0.3 * s for w, s in zip((first, second), slopes, strict=True))
    wide = X.double().numpy()
    solved = np.linalg.solve(wide.T @ wide, wide.T @ np.exp(wide[:, 0]))
    found = first.numpy().tobytes() + solved.tobytes()
    return hashlib.sha256(found).hexdigest()[:16]
