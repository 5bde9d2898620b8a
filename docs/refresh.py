"""Bring pages up to date: run their examples, and write the command's options down.

    python docs/refresh.py docs/quickstart.md docs/command.md

* What a ``python`` block prints becomes the ``text`` block that follows it.
* Lines of a ``console`` block that begin with ``$`` are run, and their output follows each.
* Between ``<!-- options: dgt fit -->`` and ``<!-- end -->`` comes a table of the command's options.

A page's blocks share one folder, which is thrown away; pictures in it are kept in docs/images.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from typer.main import get_command

PYTHON = r"```python\n(?P<code>.*?)```(?P<after>\n\n```text\n.*?```)?"
CONSOLE = r"```console\n(?P<lines>.*?)```"
OPTIONS = r"<!-- options: (?P<command>[\w ]+) -->.*?<!-- end -->"
BLOCK = re.compile("|".join((PYTHON, CONSOLE, OPTIONS)), re.DOTALL)


def refresh(page: Path) -> None:
    """Rewrite one page in place."""
    namespace: dict[str, object] = {}

    def run(match: re.Match[str]) -> str:
        if match["command"] is not None:
            table = option_table(match["command"].split())
            return f"<!-- options: {match['command']} -->\n{table}\n<!-- end -->"
        if match["lines"] is not None:
            return f"```console\n{console(match['lines'])}```"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match["code"], page.name, "exec"), namespace)
        block = f"```python\n{match['code']}```"
        if printed.getvalue().strip():
            block += f"\n\n```text\n{printed.getvalue().strip()}\n```"
        return block

    images = Path(__file__).parent / "images"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = BLOCK.sub(run, page.read_text())
        for picture in Path(folder).glob("*.png"):
            images.mkdir(exist_ok=True)
            shutil.copy(picture, images / f"{page.stem}-{picture.name}")
    page.write_text(text)


def console(lines: str) -> str:
    """A console block with the output of its commands."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    text = ""
    for line in lines.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                line[2:],
                shell=True,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": path},
            )
            text += f"{line}\n{done.stdout}"
    return text


def option_table(path: list[str]) -> str:
    """A command's arguments and options as a Markdown table."""
    from dgtrees.cli.app import app

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


if __name__ == "__main__":
    mpl.use("Agg")
    os.environ.setdefault("COLUMNS", "100")
    for name in sys.argv[1:]:
        refresh(Path(name).resolve())
