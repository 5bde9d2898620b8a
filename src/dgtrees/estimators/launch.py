"""Starts the workers of `fit_shards` on this machine with torchrun, and watches over them.

A folder is all that the processes share: the job, checkpoints, progress, and in the end the model
or the reason why there is none.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dgtrees
from dgtrees import errors
from dgtrees.data.writing import whole_file
from dgtrees.estimators.progress import EpochCallback

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
    with _work_folder(folder) as place:
        for name in (PROGRESS, FAILED, REPORT, MODEL):
            Path(place, name).unlink(missing_ok=True)
        write_json(place / JOB, task)
        with open(place / LOG, "w") as log:
            process = subprocess.Popen(
                _command(workers, max_restarts, place),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
            )
            try:
                _watch(process, place, callbacks)
            finally:
                _end(process)
        _raise_what_failed(process.returncode, place, max_restarts, kept=folder is not None)
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


@contextmanager
def _work_folder(folder: str | Path | None) -> Iterator[Path]:
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        yield Path(folder).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="dgtrees-") as temporary:
        yield Path(temporary)


def _command(workers: int, max_restarts: int, place: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={workers}",
        f"--max-restarts={max_restarts}",
        "-m",
        "dgtrees.estimators.shard_worker",
        str(place),
    ]


def _environment() -> dict[str, str]:
    """This process's, with this very dgtrees to be imported, and one thread a worker."""
    source = str(Path(dgtrees.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        # Otherwise new workers find the addresses of dead ones in torchrun's store.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }


def _watch(process: subprocess.Popen, place: Path, callbacks: tuple[EpochCallback, ...]) -> None:
    """Pass progress on until the workers end, or one says that it has failed for good."""
    seen = None
    while process.poll() is None and not (place / FAILED).exists():
        time.sleep(_POLL_SECONDS)
        if callbacks and (place / PROGRESS).exists():
            text = (place / PROGRESS).read_text()
            if text != seen:
                seen, now = text, json.loads(text)
                for callback in callbacks:
                    callback(now["epoch"], now["n_epochs"], now["metrics"])


def _end(process: subprocess.Popen) -> None:
    """Let torchrun end its workers, if there are any left."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _raise_what_failed(code: int, place: Path, max_restarts: int, kept: bool) -> None:
    if (place / FAILED).exists():
        failed = json.loads((place / FAILED).read_text())
        raise _ERRORS[failed["kind"]](failed["message"])
    if code == 0:
        return
    said = re.findall(
        r"^(?:\[rank\d+\]: ?)?(\w+(?:Error|Exception): .+)$",
        (place / LOG).read_text(),
        flags=re.MULTILINE,
    )
    cause = said[-1] if said else "they were killed, perhaps for want of memory"
    where = f"see {place / LOG}" if kept else "give a checkpoint folder to keep their log"
    raise errors.StateError(
        f"workers must end well within {max_restarts} restarts, and did not ({cause}): {where}"
    )
