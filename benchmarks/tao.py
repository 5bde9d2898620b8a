"""TAO beside the paper's figures, and what refine="polish" does to a tree of gradient training.

    python -m benchmarks.tao                  TAO, 3 seeds: strength and start chosen by validation
    python -m benchmarks.tao --polish         before and after refine="polish"
    python -m benchmarks.tao --sets letter --seeds 1

The validation part chooses the strength of the penalty, the start, and the pass; the test part is
looked at once. For data sets that come without a test part, seed s also means shuffle s.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dgtrees import DGTClassifier, DGTRegressor
from dgtrees.learn.recipe import POLISH_PASSES
from dgtrees.paper.baselines import TAOClassifier, TAORegressor
from dgtrees.paper.catalog import CATALOG, Split, data_folder, load

GOALS = {"pendigits": 95.7, "satimage": 86.8, "letter": 86.5, "ailerons": 1.80, "compactiv": 2.80}
PAPER = {
    "pendigits": 96.08,
    "satimage": 87.41,
    "letter": 87.41,
    "ailerons": 1.76,
    "compactiv": 2.71,
}
POLISHED = ("pendigits", "letter", "satimage", "ailerons", "abalone", "compactiv")
STARTS = ("cart", "random")
# Single strengths for classification; for regression paths, each from the tree of the one before.
ALPHAS = {
    "classification": (0.1, 0.3, 1.0),
    "regression": ((30.0, 10.0, 3.0, 1.0), (10.0, 3.0, 1.0, 0.3, 0.1)),
}
PASSES = {"classification": 12, "regression": 5}


def parts_of(name: str, seed: int) -> Split:
    return load(name, seed if CATALOG[name].shuffles > 1 else 0, data_folder())


def score(model, X: np.ndarray, y: np.ndarray) -> float:
    """Accuracy in per cent, or RMSE."""
    guess = model.predict(X)
    if hasattr(model, "classes_"):
        return 100.0 * float(np.mean(guess == y))
    return float(np.sqrt(np.mean((guess - y) ** 2)))


def scores(model, parts: Split) -> dict:
    return {
        "train": score(model, parts.X_train, parts.y_train),
        "val": score(model, parts.X_val, parts.y_val),
        "test": score(model, parts.X_test, parts.y_test),
        "leaves": model.get_n_leaves(),
    }


def tao(name: str, seed: int, starts: tuple) -> dict:
    """The best of all strengths and starts on the validation part."""
    parts, regression = parts_of(name, seed), CATALOG[name].task == "regression"
    alphas, passes = (
        choice["regression" if regression else "classification"] for choice in (ALPHAS, PASSES)
    )
    kind = TAORegressor if regression else TAOClassifier
    best, started = None, time.perf_counter()
    for start in starts:
        for alpha in alphas:
            model = kind(
                CATALOG[name].paper_height,
                init=start,
                alpha=alpha,
                n_passes=passes,
                random_state=seed,
            )
            model.fit(parts.X_train, parts.y_train, X_val=parts.X_val, y_val=parts.y_val)
            rank = -model.best_score_ if regression else model.best_score_
            if best is None or rank > best[0]:
                best = rank, model
    seconds = (time.perf_counter() - started) / (len(alphas) * len(starts))
    model = best[1]
    chosen = {"start": model.init, "alpha": str(model.alpha), "seconds": seconds}
    return {"set": name, "seed": seed, **scores(model, parts), **chosen}


def polished(name: str, seed: int) -> dict:
    """Scores of one fit without and with polish: the training is the same, so it is done once."""
    parts, regression = parts_of(name, seed), CATALOG[name].task == "regression"
    kind = DGTRegressor if regression else DGTClassifier
    model = kind(CATALOG[name].paper_height, random_state=seed)
    model.fit(parts.X_train, parts.y_train, X_val=parts.X_val, y_val=parts.y_val)
    before = scores(model, parts)
    started = time.perf_counter()
    trainer = model._trainer_
    trainer.recipe = replace(trainer.recipe, polish=POLISH_PASSES)
    rows = (
        model._examples(X, y, None)
        for X, y in ((parts.X_train, parts.y_train), (parts.X_val, parts.y_val))
    )
    model.model_ = model._finished((trainer.finish(*rows)[0],))
    result: dict = {"set": name, "seed": seed, "seconds": time.perf_counter() - started}
    for when, what in (("before", before), ("after", scores(model, parts))):
        result |= {f"{key} {when}": value for key, value in what.items()}
    return result


def report(title: str, columns: dict[str, str], results: list[dict], extra: dict) -> None:
    """Means over seeds, with the deviation of what is called test."""
    table = Table(title=title)
    for column in ("set", *columns.values(), *extra):
        table.add_column(column, justify="left" if column == "set" else "right")
    for name in dict.fromkeys(row["set"] for row in results):
        digits = 3 if CATALOG[name].task == "regression" else 2
        cells = []
        for key in columns:
            values = [row[key] for row in results if row["set"] == name]
            if isinstance(values[0], str):
                cells.append(" ".join(f"{value}" for value in values))
                continue
            places = digits if key not in ("seconds",) and "leaves" not in key else 0
            text = f"{np.mean(values):.{places}f}"
            if key.startswith("test") and len(values) > 1:
                text += f" ± {np.std(values, ddof=1):.{places}f}"
            cells.append(text)
        table.add_row(name, *cells, *(str(figures.get(name, "")) for figures in extra.values()))
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", choices=list(CATALOG))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--polish", action="store_true")
    parser.add_argument("--starts", nargs="*", default=STARTS, choices=STARTS)
    parser.add_argument("--json", type=Path, help="append every run as a line of JSON")
    given = parser.parse_args()
    names = given.sets or (POLISHED if given.polish else list(GOALS))
    jobs = [(name, seed) for name in names for seed in range(given.seeds)]
    results = []
    for name, seed in track(jobs, console=Console(stderr=True), transient=True):
        if given.polish:
            results.append(polished(name, seed))
        else:
            results.append(tao(name, seed, given.starts))
        if given.json:
            with given.json.open("a") as stream:
                stream.write(json.dumps(results[-1]) + "\n")
    if given.polish:
        keys = ("train", "val", "test", "leaves")
        columns = {f"{k} {when}": f"{k} {when}" for k in keys for when in ("before", "after")}
        columns["seconds"] = "s a polish"
        report('DGT without and with refine="polish"', columns, results, {})
    else:
        columns = {k: k for k in ("test", "val", "train", "leaves", "start", "alpha")}
        columns["seconds"] = "s a fit"
        extra = {"goal": GOALS, "paper": PAPER}
        report("TAO: test accuracy % or RMSE", columns, results, extra)


if __name__ == "__main__":
    main()
