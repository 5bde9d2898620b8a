"""Runs: killed, failed, resumed, within a budget."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

from dgtrees.paper import runner
from paper_cells import smoke_cells

ROOT = Path(__file__).parents[1]

RUN = """
import sys
from dataclasses import replace
from pathlib import Path
from dgtrees.paper import cells, experiment, runner, work
known = experiment.make_smoke(experiment.read_experiments()["regression"], work.QUICK)
chosen = [c for c in cells.list_cells(known, 20) if c.method in ("cart", "ridge")]
if __name__ == "__main__":
    outcome = runner.run(chosen, Path(sys.argv[1]), jobs=2)
    print(len(outcome.done), len(outcome.before), len(outcome.failed), len(outcome.left))
"""


def start(folder):
    script = folder / "run.py"
    script.write_text(RUN)
    paths = [str(ROOT / "src")]
    return subprocess.Popen(
        [sys.executable, str(script), str(folder / "results")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
    )


def made_records(folder):
    return {p: p.read_bytes() for p in (folder / "results").glob("*/*.json")}


def test_a_killed_run_loses_at_most_the_cells_under_way(tmp_path):
    cells, moments = 40, random.Random()
    first = start(tmp_path)
    while len(made_records(tmp_path)) < moments.randint(2, 15):
        assert first.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    time.sleep(0.1 * moments.random())
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    time.sleep(1.0)  # its processes end with it
    before = made_records(tmp_path)
    time.sleep(0.5)
    assert made_records(tmp_path) == before
    for content in before.values():
        json.loads(content)

    second = start(tmp_path)
    output, _ = second.communicate()
    done, there, failed, left = map(int, output.split())
    after = made_records(tmp_path)
    assert (done, there, failed, left) == (cells - len(before), len(before), 0, 0)
    assert len(after) == cells
    assert {path: after[path] for path in before} == before


def test_a_failed_cell_stops_nothing_else_and_a_budget_starts_nothing(tmp_path, capfd):
    # A server that an earlier test has started writes to that test's standard error.
    forkserver._forkserver._stop()
    good, bad = smoke_cells("regression", "ridge", "cart")
    bad = replace(bad, grid=({"min_samples_leaf": -1},))
    waits = replace(good, method="waits", seed=1, chooser=0)
    cells, seen = [bad, good, waits], []
    outcome = runner.run(cells, tmp_path, jobs=1, budget=0.0)
    assert (len(outcome.left), outcome.done) == (3, [])
    watch = lambda cell, record, _: seen.append((cell.method, record is not None))  # noqa: E731
    outcome = runner.run(cells, tmp_path, jobs=1, watch=watch)
    assert dict(seen) == {bad.method: False, good.method: True}
    assert [c.method for c in outcome.failed] == [bad.method]
    assert [c.method for c in outcome.left] == ["waits"]  # for a choice that nobody makes
    assert "min_samples_leaf" in capfd.readouterr().err
    again = runner.run([good], tmp_path, jobs=1)
    assert (len(again.before), again.done) == (1, [])
