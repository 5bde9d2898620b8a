"""Starts the workers of `fit_shards` on this machine, and watches over them.

A folder is all that the processes share: the job, checkpoints, progress, and in the end the model
or the reason why there is none. Workers find each other through a file in a private folder, and
talk over the loopback interface: nothing here can be reached from another machine.

A worker's standard input is a pipe that this process holds open and never writes to. It closes
when this process ends, by a signal, a crash or otherwise; see `shard_worker`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import dgtrees
from dgtrees import errors
from dgtrees.estimators.callbacks import EpochCallback
from dgtrees.writing import whole_file

__all__ = ["JOB", "MODEL", "PROGRESS", "REPORT", "report_failure", "run", "write_json"]

JOB, PROGRESS, FAILED, REPORT = "job.json", "progress.json", "failed.json", "report.json"
MODEL, LOG = "model.dgt", "workers.log"

_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 30

_ERRORS: dict[str, type[Exception]] = {
    "DataError": errors.DataError,
    "StateError": errors.StateError,
    "ValueError": ValueError,
    "TypeError": TypeError,
    "ImportError": ImportError,
    "MemoryError": MemoryError,
}


def run(
    task: dict[str, Any],
    workers: int,
    max_restarts: int,
    folder: str | Path | None,
    callbacks: tuple[EpochCallback, ...],
) -> tuple[Any, dict[str, Any]]:
    """Train with so many workers; the fitted model and a report of the run."""
    with tempfile.TemporaryDirectory(prefix="dgtrees-") as private:
        place = Path(private if folder is None else folder).resolve()
        place.mkdir(parents=True, exist_ok=True)
        for name in (PROGRESS, FAILED, REPORT, MODEL):
            Path(place, name).unlink(missing_ok=True)
        write_json(place / JOB, task)
        with open(place / LOG, "w") as log:
            for restart in range(max_restarts + 1):
                with _Workers(place, private, log, workers, restart) as running:
                    _watch(running, place, callbacks)
                if not any(running.codes) or (place / FAILED).exists():
                    break
        _raise_what_failed(running.codes, place, max_restarts, kept=folder is not None)
        return dgtrees.load(place / MODEL), json.loads((place / REPORT).read_text())


def report_failure(place: Path, error: Exception) -> None:
    """Leave word of an error that a new worker would meet again."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS]
    failure = {"kind": kinds[0] if kinds else "StateError", "message": str(error)}
    write_json(place / FAILED, failure)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file that is complete or not there."""
    with whole_file(path, text=True) as stream:
        json.dump(content, stream)


class _Workers:
    """So many workers, started together; those that are left at the end of the block are ended."""

    def __init__(self, place: Path, private: str, log: IO[str], workers: int, restart: int) -> None:
        self._log, self._size, self._restart = log, workers, restart
        words = ["-m", "dgtrees.cluster.shard_worker", str(place), private]
        self._command = [sys.executable, *words]
        self._processes: list[subprocess.Popen] = []
        self.codes: list[int | None] = []

    def __enter__(self) -> _Workers:
        try:
            for rank in range(self._size):
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=self._log,
                    stderr=self._log,
                    env=_environment(rank, self._size, self._restart),
                )
                self._processes.append(process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def at_work(self) -> bool:
        """Whether some have not ended yet and none has ended badly; sets `codes`."""
        self.codes = [process.poll() for process in self._processes]
        return None in self.codes and not any(self.codes)

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for process in self._processes:  # not before: a worker that sees it removes the folder
            if process.stdin is not None:
                process.stdin.close()


def _environment(rank: int, workers: int, restart: int) -> dict[str, str]:
    """This process's, with this very dgtrees to be imported, and one thread a worker."""
    source = str(Path(dgtrees.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "OMP_NUM_THREADS": "1",
        **_loopback(),
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        # The names that torchrun gives them.
        "RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "TORCHELASTIC_RESTART_COUNT": str(restart),
    }


def _loopback() -> dict[str, str]:
    """Has gloo listen on the loopback interface; it would take that of the host's name."""
    names = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    return {"GLOO_SOCKET_IFNAME": names[0]} if names else {}


def _watch(running: _Workers, place: Path, callbacks: tuple[EpochCallback, ...]) -> None:
    """Pass progress on until the workers end, or one says that it has failed for good."""
    seen = None
    while running.at_work() and not (place / FAILED).exists():
        time.sleep(_POLL_SECONDS)
        if callbacks and (place / PROGRESS).exists():
            text = (place / PROGRESS).read_text()
            if text != seen:
                seen, now = text, json.loads(text)
                for callback in callbacks:
                    callback(now["epoch"], now["n_epochs"], now["metrics"])


def _raise_what_failed(
    codes: Sequence[int | None], place: Path, max_restarts: int, kept: bool
) -> None:
    if (place / FAILED).exists():
        failed = json.loads((place / FAILED).read_text())
        raise _ERRORS[failed["kind"]](failed["message"])
    if not any(codes):
        return
    where = f"see {place / LOG}" if kept else "give a checkpoint folder to keep their log"
    raise errors.StateError(
        f"workers must end well within {max_restarts} restarts, and did not "
        f"({_cause(codes, place)}): {where}"
    )


def _cause(codes: Sequence[int | None], place: Path) -> str:
    """A signal that ended a worker, or the last error of their log."""
    for rank, code in enumerate(codes):
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            memory = ", perhaps for want of memory" if name == "SIGKILL" else ""
            return f"worker {rank} was ended by {name}{memory}"
    said = re.findall(
        r"^(?:\[rank\d+\]: ?)?(\w+(?:Error|Exception): .+)$",
        (place / LOG).read_text(),
        flags=re.MULTILINE,
    )
    return said[-1] if said else f"their exit codes are {codes}"
