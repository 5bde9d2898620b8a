"""Times training on request, in a process of its own: one JSON object a line in, one out.

Runs in the interpreter of any checkout, the first release's included, and so imports nothing of
this folder. Times are processor seconds of this process, `wall` excepted, and for steps those of
the thread that trains, with those of the process beside them: after a first fit, idle threads of
BLAS may spin for tens of milliseconds when the next one begins.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from time import perf_counter, process_time, thread_time


@lru_cache(maxsize=1)
def load(path: str) -> dict:
    """The arrays of a file."""
    import numpy as np

    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def steps(path: str, height: int, classes: int, epochs: int, recipe: dict) -> dict:
    """Seconds of one training step, from some epochs on standardised rows."""
    import numpy as np

    from dgtrees.learn.recipe import Recipe

    told = {f.name: recipe[f.name] for f in fields(Recipe) if f.name in recipe}
    if isinstance(told["hidden"], list):
        told["hidden"] = tuple(told["hidden"])
    how, table = Recipe(**told), load(path)
    X = table["X_train"].astype(np.float64)
    scale = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).astype(np.float32)
    y = table["y_train"]
    if not classes:
        y = ((y - y.mean()) / y.std()).astype(np.float32)[:, None]
    stamps: list[tuple[float, float]] = []

    def stamp(*_: object) -> None:
        stamps.append((thread_time(), process_time()))

    _train(X, y, height, classes, how, epochs, stamp)
    times = np.diff(stamps, axis=0)
    # The first epoch also allocates and loads compiled code: the second one stands for both.
    a_pass = -(-len(X) // how.rows_a_step(len(X)))
    thread, process = (times.sum(axis=0) + times[0]) / (epochs * a_pass)
    return {"seconds": thread, "process_seconds": process}


def _train(X, y, height: int, classes: int, recipe, epochs: int, callback: Callable) -> None:  # type: ignore[no-untyped-def]
    """Some epochs, by the compiled engine or by the first release's."""
    try:
        from dgtrees.learn.descent import Descent
    except ImportError:
        _train_in_torch(X, y, height, classes, recipe, epochs, callback)
        return
    import numpy as np

    from dgtrees.learn.rows import Rows
    from dgtrees.learn.starts import random_start

    start = random_start(height, classes or 1, np.random.default_rng(0))
    descent = Descent(start, X.shape[1], "constant", recipe, classes > 0, seed=0)
    descent.begin(Rows(X, y), recipe, epochs=epochs, callbacks=(callback,)).advance()


def _train_in_torch(X, y, height: int, classes: int, recipe, epochs: int, callback) -> None:  # type: ignore[no-untyped-def]
    import torch
    from dgtrees.learn.batch import fit_tree, make_module

    from dgtrees.learn.rows import Rows

    seeded = torch.Generator().manual_seed(0)
    module = make_module(X.shape[1], classes or 1, height, "constant", recipe, seeded)
    rows = Rows(torch.from_numpy(X), torch.from_numpy(y))
    fit_tree(
        module,
        rows,
        recipe,
        classification=classes > 0,
        generator=seeded,
        epochs=epochs,
        callbacks=(callback,),
    )


def fit(path: str, height: int, classes: int, validation: bool, epochs: int | None = None) -> dict:
    """Seconds of one fit with the defaults of this version."""
    from dgtrees import DGTClassifier, DGTRegressor

    table = load(path)
    made = DGTClassifier if classes else DGTRegressor
    model = made(max_depth=height, random_state=0, max_epochs=epochs)
    held = {name: table[name] for name in ("X_val", "y_val")} if validation else {}
    began, seconds = perf_counter(), process_time()
    model.fit(table["X_train"], table["y_train"], **held)
    return {"seconds": process_time() - seconds, "wall": perf_counter() - began}


def first_fits(options: dict) -> dict:
    """What a new process pays for imports, its first fit of 150 rows, and the second one."""
    bare = process_time()
    began = perf_counter()
    import dgtrees

    imported = process_time()
    import numpy as np

    X = np.random.default_rng(0).normal(size=(150, 4))
    y = np.arange(150) % 3
    X[:, 0] += y
    made = dgtrees.DGTClassifier  # imports what an estimator needs
    loaded = process_time()
    made(random_state=0, **options).fit(X, y)
    first, wall = process_time(), perf_counter() - began
    made(random_state=0, **options).fit(X, y)
    return {
        "bare": bare,
        "import": imported - bare,
        "estimator": loaded - imported,
        "first": first - loaded,
        "second": process_time() - first,
        "wall": wall,
    }


def sizes(requirements: list[str]) -> dict:
    """Bytes on disk of distributions and of all that they need in turn, by name."""
    from packaging.requirements import Requirement

    found: dict[str, int] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            there = distribution(wanted.name)
        except PackageNotFoundError:  # for another platform
            continue
        files = (Path(there.locate_file(file)) for file in there.files or ())
        found[name] = sum(_used(file) for file in files if file.is_file())
        waiting += [Requirement(text) for text in there.requires or ()]
    return found


def _used(file: Path) -> int:
    """Bytes that a file takes on disk, as du counts them."""
    known = file.stat()
    return 512 * known.st_blocks if hasattr(known, "st_blocks") else known.st_size


WORKS = {work.__name__: work for work in (steps, fit, first_fits, sizes)}


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    for line in sys.stdin:
        asked = json.loads(line)
        found = WORKS[asked.pop("work")](**asked)
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
