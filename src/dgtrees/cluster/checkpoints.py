"""Checkpoints of a training run, from which a new group of workers goes on.

One file, written by the first worker and replaced as a whole, so that it is complete or not there.
It holds numbers and tensors only and is read as such (no pickled code). It is no model file.
"""

from __future__ import annotations

import io
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgtrees.errors import StateError
from dgtrees.learn.loop import Run
from dgtrees.writing import whole_file

__all__ = ["Checkpoints"]


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
        if state["about"] != self.about:
            raise StateError(
                f"{self.path}: must be the checkpoint of this run, and is that of another (other "
                "rows, parameters or number of workers): delete it, or choose another folder"
            )
        run.module.load_state_dict(state["module"])
        run.optimizer.load_state_dict(state["optimizer"])
        run.average.load_state_dict(state["average"])
        run.best.load_state_dict(state["best"])
        for name, value in state["result"].items():
            setattr(run.result, name, value)
        run.step = state["step"]
        run.loss_sum, generator = state["workers"][rank]
        run.generator.set_state(generator)

    def write(self, run: Run, workers: list[tuple[float, Tensor]]) -> None:
        """Keep the present state, with every worker's sum of losses and source of noise."""
        self._write(
            {
                "about": self.about,
                "module": run.module.state_dict(),
                "optimizer": run.optimizer.state_dict(),
                "average": run.average.state_dict(),
                "best": run.best.state_dict(),
                "result": asdict(run.result),
                "step": run.step,
                "workers": workers,
            }
        )

    def _write(self, state: dict[str, Any]) -> None:
        content = io.BytesIO()  # torch would turn an error of writing into one of its own
        torch.save(state, content)
        with whole_file(self.path, error=StateError) as stream:
            stream.write(content.getbuffer())

    def read(self) -> dict[str, Any] | None:
        """The last state, if one was written."""
        if not self.path.exists():
            return None
        try:
            return torch.load(self.path, weights_only=True)
        except Exception as error:  # torch raises half a dozen types on damaged files
            raise StateError(f"{self.path}: not a readable checkpoint: delete it") from error
