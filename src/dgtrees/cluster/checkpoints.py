"""Checkpoints of a training run, from which a new group of workers goes on.

One file, written by the first worker and replaced as a whole, so that it is complete or not there:
NumPy arrays and one line of JSON, no pickled code. It is no model file.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.errors import StateError
from dgtrees.learn.run import Run
from dgtrees.writing import whole_file

__all__ = ["Checkpoints"]

_ARRAYS = ("values", "first", "second", "average")
"""What training changes, of `descent.Parameters`."""


class Checkpoints:
    """Keeps the state of a run after every epoch, and every so many steps within one.

    Parameters
    ----------
    path : path
        The file; on several machines, in a folder that all of them see.
    about : str
        What the run is: one of another kind is not gone on with.
    every : int
        Steps between two checkpoints within an epoch.
    """

    def __init__(self, path: str | os.PathLike[str], about: str, every: int) -> None:
        self.path, self.about, self.every = Path(path), about, every

    def restore(self, run: Run, state: dict[str, Any], rank: int) -> None:
        """Bring a new run to a state that was read, as worker number `rank` had it."""
        try:
            self._restore(run, state, rank)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._unreadable() from error

    def _restore(self, run: Run, state: dict[str, Any], rank: int) -> None:
        descent, told = run.descent, state["told"]
        if told["about"] != self.about:
            raise StateError(
                f"{self.path}: must be the checkpoint of this run, and is that of another (other "
                "rows, parameters or number of workers): delete it, or choose another folder"
            )
        for name in _ARRAYS:
            array = getattr(descent.parameters, name)
            array[:] = state[name].reshape(array.shape)
        descent.steps, descent.epochs = told["steps"], told["epochs"]
        run.averaged, run.step = told["averaged"], told["step"]
        if "best" in state:
            run.best.rank, run.best.epoch = tuple(told["best_rank"]), told["best_epoch"]
            run.best.values = state["best"]
        for name, value in told["result"].items():
            setattr(run.result, name, value)
        run.result.best_rank = tuple(run.result.best_rank)
        run.loss_sum = told["loss_sums"][rank]

    def _unreadable(self) -> StateError:
        return StateError(f"{self.path}: not a readable checkpoint: delete it")

    def write(self, run: Run, loss_sums: list[float]) -> None:
        """Keep the present state, with every worker's sum of losses."""
        descent, best = run.descent, run.best
        told = {
            "about": self.about,
            "steps": descent.steps,
            "epochs": descent.epochs,
            "averaged": run.averaged,
            "step": run.step,
            "best_rank": best.rank,
            "best_epoch": best.epoch,
            "result": asdict(run.result),
            "loss_sums": loss_sums,
        }
        arrays = {name: getattr(descent.parameters, name) for name in _ARRAYS}
        if best.values is not None:
            arrays["best"] = best.values
        content = io.BytesIO()
        np.savez(content, told=np.array(json.dumps(told)), **arrays)
        with whole_file(self.path, error=StateError) as stream:
            stream.write(content.getbuffer())

    def read(self) -> dict[str, Any] | None:
        """The last state, if one was written."""
        if not self.path.exists():
            return None
        try:
            # NumPy leaves a file that it opens itself open if it is damaged.
            with open(self.path, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                state: dict[str, Any] = dict(arrays)
            state["told"] = json.loads(str(state["told"]))
        except Exception as error:  # NumPy and zipfile raise half a dozen types on damaged files
            raise self._unreadable() from error
        return state
