"""A worker that dies or fails: replaced, or its reason told."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.utils._param_validation import InvalidParameterError

from dgtrees import DGTClassifier, fit_shards
from dgtrees.cluster import launch
from dgtrees.errors import DataError, ModelFileError, StateError
from shard_tables import OPTIONS, rows, same_tree, written


def worker_process(folder, rank):
    """The process of one worker of a run, found by what it was started with."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended since
            continue
        if str(folder).encode() in words and f"RANK={rank}".encode() in variables:
            return int(place.name)
    raise AssertionError("there is no such worker")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_killed_worker_is_replaced_and_the_result_is_the_same(shards, undisturbed, tmp_path):
    model = DGTClassifier(**OPTIONS)
    options = {"workers": 2, "checkpoint": tmp_path}
    work = threading.Thread(target=fit_shards, args=(model, shards, "label"), kwargs=options)
    work.daemon = True
    work.start()
    while work.is_alive():
        progress = tmp_path / launch.PROGRESS
        if progress.exists() and json.loads(progress.read_text())["epoch"] >= 2:
            os.kill(worker_process(tmp_path, 1), signal.SIGKILL)
            break
        time.sleep(0.01)
    work.join(timeout=300)
    assert model.shards_report_["restarts"] == 1
    assert same_tree(model, undisturbed)
    assert model.history_ == undisturbed.history_


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidParameterError("x must be"), ValueError),
        (DataError("a file"), DataError),
        (ModelFileError("a model"), StateError),
        (TypeError("a type"), TypeError),
    ],
)
def test_a_workers_error_is_of_the_same_kind_here(error, kind, tmp_path):
    launch.report_failure(tmp_path, error)
    with pytest.raises(kind, match=str(error)):
        launch._raise_what_failed([1, None], tmp_path, max_restarts=0, kept=False)


@pytest.mark.slow
def test_a_worker_that_cannot_go_on_says_why(tmp_path):
    table = rows(400)
    bad = table.slice(200).set_column(0, "x0", pa.array([np.inf] * 200))
    folder = written(table.slice(0, 200), tmp_path / "shards", (0,))
    parquet.write_table(bad, folder / "z.parquet")
    with pytest.raises(DataError, match=r"z\.parquet, row 1, column 'x0': must be finite"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", workers=2)
