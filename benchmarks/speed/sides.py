"""Sides: this checkout, and another one to compare it with, each in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Self

__all__ = ["OTHER", "OURS", "Side", "sides"]

OURS, OTHER = "this", "first release"
WORKER = Path(__file__).with_name("worker.py")


class Side:
    """One checkout: `ask` its worker, which stays, or a `fresh` one."""

    def __init__(self, name: str, folder: Path, python: Path) -> None:
        self.name, self.folder, self.python = name, folder, python
        self._worker: subprocess.Popen | None = None

    def _start(self, **environment: str) -> subprocess.Popen:
        known = os.environ | {"PYTHONPATH": str(self.folder / "src")} | environment
        # -P: modules beside the worker are not for it to import.
        command = [str(self.python), "-P", str(WORKER)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, env=known, text=True, **pipes)

    def ask(self, work: str, **told: Any) -> dict:
        """What a function of the worker returns."""
        if self._worker is None:
            self._worker = self._start()
        return _answer(self._worker, work, told)

    def fresh(self, work: str, environment: dict[str, str] | None = None, **told: Any) -> dict:
        """The same in a new process."""
        with self._start(**environment or {}) as worker:
            return _answer(worker, work, told)

    def requirements(self, extra: str | None = None) -> list[str]:
        """What the project depends on, or one of its extras."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        if extra is None:
            return project["dependencies"]
        return project.get("optional-dependencies", {}).get(extra, [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            assert self._worker.stdin
            self._worker.stdin.close()
            self._worker.wait()


def _answer(worker: subprocess.Popen, work: str, told: dict) -> dict:
    assert worker.stdin and worker.stdout
    worker.stdin.write(json.dumps({"work": work} | told) + "\n")
    worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"the process that ran {work!r} has ended: see its error above")
    return json.loads(line)


def sides() -> list[Side]:
    """This checkout, and that of the folder DGTREES_FIRST, with its own `.venv`, if it is set."""
    found = [Side(OURS, Path(__file__).parents[2], Path(sys.executable))]
    if folder := os.environ.get("DGTREES_FIRST"):
        other = Path(folder).resolve()
        python = other / ".venv" / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"DGTREES_FIRST must name a checkout with {python}: make it, or unset")
        found.append(Side(OTHER, other, python))
    return found
