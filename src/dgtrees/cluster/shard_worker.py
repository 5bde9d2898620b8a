"""One worker of `fit_shards`, as `launch` starts it: python -m dgtrees.cluster.shard_worker."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import dgtrees
from dgtrees.cluster import launch
from dgtrees.cluster.shard_training import ShardJob, train
from dgtrees.cluster.workers import join, restarts
from dgtrees.errors import DGTreesError
from dgtrees.estimators.stored_parameters import unfitted

__all__ = ["main"]

_ATTEMPTS = 100


def main(folder: str, private: str) -> None:
    """Do the job of a folder, together with the other workers, and leave the result there.

    `private` is a folder of this run alone, where workers find each other.
    """
    threading.Thread(target=_end_with_the_caller, args=(Path(private),), daemon=True).start()
    place = Path(folder)
    task = json.loads((place / launch.JOB).read_text())
    model = unfitted(getattr(dgtrees, task["kind"]), task)

    def tell(epoch: int, n_epochs: int, metrics: dict[str, float]) -> None:
        now = {"epoch": epoch, "n_epochs": n_epochs, "metrics": metrics}
        launch.write_json(place / launch.PROGRESS, now)

    try:
        with join(Path(private, f"meeting-{restarts()}")) as group:
            train(model, ShardJob(**task["job"]), group, place, (tell,))
            if group.rank == 0:
                model.save(place / launch.MODEL)
                launch.write_json(place / launch.REPORT, model.shards_report_)
    except (DGTreesError, ValueError, TypeError, ImportError, MemoryError) as error:
        # A new worker would meet the same: whoever waits is told, and starts no other.
        launch.report_failure(place, error)
        raise


def _end_with_the_caller(private: Path) -> None:
    """Wait until the process that started this one is gone; then go, and tidy up in its place."""
    os.read(sys.stdin.fileno(), 1)  # returns when the pipe's other end is closed
    for _ in range(_ATTEMPTS):  # another thread may be writing a file there
        shutil.rmtree(private, ignore_errors=True)
        if not private.exists():
            break
        time.sleep(0.01)
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
