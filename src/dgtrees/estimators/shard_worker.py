"""One worker of `fit_shards`, as torchrun starts it: python -m dgtrees.estimators.shard_worker."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dgtrees
from dgtrees.errors import DGTreesError
from dgtrees.estimators import launch
from dgtrees.estimators.shard_training import ShardJob, train
from dgtrees.estimators.storage import unfitted
from dgtrees.learn.team import join

__all__ = ["main"]


def main(folder: str) -> None:
    """Do the job of a folder, together with the other workers, and leave the result there."""
    place = Path(folder)
    task = json.loads((place / launch.JOB).read_text())
    model = unfitted(getattr(dgtrees, task["kind"]), task)

    def tell(epoch: int, n_epochs: int, metrics: dict[str, float]) -> None:
        now = {"epoch": epoch, "n_epochs": n_epochs, "metrics": metrics}
        launch.write_json(place / launch.PROGRESS, now)

    try:
        with join() as team:
            train(model, ShardJob(**task["job"]), team, place, (tell,))
            if team.rank == 0:
                model.save(place / launch.MODEL)
                launch.write_json(place / launch.REPORT, model.shards_report_)
    except (DGTreesError, ValueError, TypeError, ImportError, MemoryError) as error:
        # A new worker would meet the same: whoever waits is told, and starts no other.
        launch.report_failure(place, error)
        raise


if __name__ == "__main__":
    main(sys.argv[1])
