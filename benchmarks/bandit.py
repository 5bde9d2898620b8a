"""Bandit feedback: what a policy knows after so many answered queries, one setting for all sets.

    python -m benchmarks.bandit                      every table, seeds 0, 1, 2
    python -m benchmarks.bandit --sets letter --leaves constant

The training and validation rows are streamed in an order of the seed's, again in a new one where
there are more queries than rows; each query is asked once. Measured is the greedy policy on at
most 10,000 test rows. Runs already in the results file are not repeated: stop and go on at will.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks import bandit_linear
from benchmarks.data import data_folder
from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.bandit import simulate
from dgtrees.bandit.recipe import RECIPES
from dgtrees.data.catalog import Split, load

HEIGHT = 8
VALUE_HEIGHT = 6
CHECKPOINTS = {
    "covtype": (2_000, 10_000, 40_000, 100_000, 300_000),
    "mnist": (2_000, 10_000, 30_000, 76_000),
    "pendigits": (1_000, 3_000, 10_000, 30_000),
    "letter": (3_000, 10_000, 30_000, 100_000),
    "satimage": (1_000, 3_000, 10_000),
}
GOALS = {
    "constant": {
        "covtype": {10_000: 69, 40_000: 73, 300_000: 75},
        "mnist": {76_000: 90.5},
        "pendigits": {30_000: 94},
        "letter": {100_000: 65},
        "satimage": {10_000: 82},
    },
    "linear": {
        "covtype": {10_000: 71, 40_000: 75, 300_000: 77.5},
        "mnist": {76_000: 92},
        "pendigits": {30_000: 96},
        "letter": {100_000: 80},
        "satimage": {10_000: 84},
    },
}
# Measured once, 3 seeds, on the same splits: Vowpal Wabbit 9.11 with the best of nine explorers,
# and the exact disjoint LinUCB, both tuned on validation rows.
RIVALS = {
    "covtype": {2_000: (63.4, 69.2), 10_000: (68.1, 71.6), 40_000: (70.7, 72.0),
                100_000: (71.1, 72.4), 300_000: (72.2, 72.6)},
    "mnist": {2_000: (78.8, 80.7), 10_000: (88.2, 87.3), 30_000: (90.1, 90.3),
              76_000: (91.2, 91.0)},
    "pendigits": {1_000: (71.5, 85.3), 3_000: (81.0, 88.1), 10_000: (85.4, 89.5),
                  30_000: (86.7, 89.8)},
    "letter": {3_000: (39.1, 57.4), 10_000: (61.3, 69.3), 30_000: (66.9, 70.3),
               100_000: (69.0, 70.5)},
    "satimage": {1_000: (76.1, 80.7), 3_000: (81.0, 81.1), 10_000: (82.1, 81.9)},
}  # fmt: skip
VALUES = ("ailerons", "abalone", "compactiv")
SHUFFLED = {"abalone", "compactiv"}
"""Sets without a test part of their own: seed s also means shuffle s."""
PASSES = (1, 5, 20, 100)
VALUE_GOALS = {"ailerons": 1.73, "abalone": 2.20, "compactiv": 3.00}


def streamed(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation rows."""
    X = np.concatenate([split.X_train, split.X_val])
    return X, np.concatenate([split.y_train, split.y_val])


def run_classes(name: str, leaf: str, recipe: str, seed: int, split: Split) -> dict:
    X, y = streamed(split)
    policy = DGTBandit(len(np.unique(y)), HEIGHT, leaf, recipe=recipe, random_state=seed)
    started = time.perf_counter()
    curve = simulate(
        policy, X, y, X_test=split.X_test[:10_000], y_test=split.y_test[:10_000],
        checkpoints=CHECKPOINTS[name], random_state=seed,
    )  # fmt: skip
    return {
        "queries": curve.queries,
        "held_out": [100 * v for v in curve.held_out],
        "progressive": [100 * v for v in curve.progressive],
        "leaves": curve.leaves,
        "seconds": time.perf_counter() - started,
    }


def run_values(name: str, model: str, feedback: str, seed: int, split: Split) -> dict:
    X, y = streamed(split)
    margin = 0.05 * (y.max() - y.min())  # what is best is not known beforehand
    low, high = y.min() - margin, y.max() + margin
    ends = [passes * len(X) for passes in PASSES]
    test = split.X_test, split.y_test
    started = time.perf_counter()
    if model.startswith("linear regression"):
        as_paper = model.endswith("paper")
        errors = bandit_linear.curve(X, y, *test, ends, feedback, as_paper, seed)
    else:
        leaf, recipe = model.split(" leaves, ")
        policy = DGTContinuousBandit(
            low, high, VALUE_HEIGHT, leaf, feedback=feedback, recipe=recipe, random_state=seed
        )
        curve = simulate(
            policy, X, y, X_test=test[0], y_test=test[1], checkpoints=ends, random_state=seed
        )
        errors = [v**0.5 for v in curve.held_out]
    return {"queries": ends, "rmse": errors, "seconds": time.perf_counter() - started}


class Results:
    """Runs as lines of JSON, found again by what was run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["key"]] = row

    def get(self, key: dict, work) -> dict:
        # A changed recipe is another run.
        text = json.dumps(key, sort_keys=True)
        if text not in self.rows:
            row = {"key": text, **work()}
            self.rows[text] = row
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(f"  {text}: {row['seconds']:.0f} s", flush=True)
        return self.rows[text]


def _mean(rows: list[dict], field: str, i: int) -> tuple[float, float]:
    values = [row[field][i] for row in rows]
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def classes_table(results: Results, sets: list[str], leaf: str, seeds: int) -> list[str]:
    lines = [
        f"### leaf={leaf!r}, height {HEIGHT}, seeds 0..{seeds - 1}: held-out accuracy %",
        "",
        "| data | queries | default | sd | goal | progressive | leaves "
        "| paper recipe | VW | LinUCB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in sets:
        split = None
        found: dict[str, list[dict]] = {}
        for recipe in ("default", "paper"):
            for seed in range(seeds):
                key = {
                    "set": name, "leaf": leaf, "recipe": repr(RECIPES[recipe][leaf]),
                    "height": HEIGHT, "seed": seed,
                }  # fmt: skip
                if json.dumps(key, sort_keys=True) not in results.rows and split is None:
                    split = load(name, folder=data_folder())
                row = results.get(
                    key,
                    lambda n=name, r=recipe, s=seed, p=split: run_classes(n, leaf, r, s, p),
                )
                found.setdefault(recipe, []).append(row)
        for i, queries in enumerate(CHECKPOINTS[name]):
            ours, sd = _mean(found["default"], "held_out", i)
            goal = GOALS[leaf][name].get(queries)
            verdict = "" if goal is None else f"{goal} {'met' if ours >= goal else 'MISSED'}"
            vw, linucb = RIVALS[name][queries]
            lines.append(
                f"| {name} | {queries:,} | {ours:.1f} | {sd:.1f} | {verdict} | "
                f"{_mean(found['default'], 'progressive', i)[0]:.1f} | "
                f"{_mean(found['default'], 'leaves', i)[0]:.0f} | "
                f"{_mean(found['paper'], 'held_out', i)[0]:.1f} | {vw} | {linucb} |"
            )
    return [*lines, ""]


MODELS = (
    "linear leaves, default",
    "constant leaves, default",
    "constant leaves, paper",
    "linear regression, paper",
    "linear regression, at its best",
)


def values_table(results: Results, sets: list[str], feedback: str, seeds: int) -> list[str]:
    lines = [
        f"### {feedback} regression, height {VALUE_HEIGHT}, seeds 0..{seeds - 1}: test RMSE "
        f"after {', '.join(map(str, PASSES))} passes",
        "",
        "| model | " + " | ".join(sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    splits = {
        (n, s): load(n, s if n in SHUFFLED else 0, folder=data_folder())
        for n in sets
        for s in range(seeds)
    }
    for model in MODELS:
        cells = []
        for name in sets:
            rows = []
            for seed in range(seeds):
                kind = "continuous, " + model.split(" ")[0]
                recipe = RECIPES[model.split(", ")[-1]][kind] if "leaves" in model else None
                key = {
                    "set": name, "model": model, "feedback": feedback, "recipe": repr(recipe),
                    "height": VALUE_HEIGHT, "seed": seed,
                }  # fmt: skip
                split = splits[name, seed]
                rows.append(
                    results.get(
                        key,
                        lambda m=model, s=seed, p=split, n=name: run_values(n, m, feedback, s, p),
                    )
                )
            means = [_mean(rows, "rmse", i) for i in range(len(PASSES))]
            text = " / ".join(f"{m:.3g}" if m > 100 else f"{m:.3f}" for m, _ in means)
            cells.append(f"{text} (sd {means[-1][1]:.3f})")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    if feedback == "two-point":
        lines.append("| goal | " + " | ".join(f"{VALUE_GOALS[n]:.2f}" for n in sets) + " |")
    return [*lines, ""]


def draw_values(results: Results, sets: list[str], feedback: str, path: Path) -> None:
    """Test RMSE against queries, a panel a data set, with the spread of the seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(sets), figsize=(3.6 * len(sets), 3.2), layout="constrained")
    for ax, name in zip(np.atleast_1d(axes), sets, strict=True):
        for model in MODELS:
            keys = [(json.loads(text), row) for text, row in results.rows.items()]
            rows = [
                row
                for key, row in keys
                if (key["set"], key.get("model"), key.get("feedback")) == (name, model, feedback)
            ]
            if rows:
                queries = np.mean([row["queries"] for row in rows], axis=0)
                errors = np.array([row["rmse"] for row in rows])
                style = "--" if "regression" in model else "-"
                ax.errorbar(
                    queries, errors.mean(0), errors.std(0), fmt=f"o{style}", ms=3, label=model
                )
        ax.set(xscale="log", yscale="log", title=name, xlabel="queries")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(which="both", labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(axes)[0].set_ylabel(f"test RMSE, {feedback}")
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=[*CHECKPOINTS, *VALUES])
    parser.add_argument("--leaves", nargs="*", default=["constant", "linear"])
    parser.add_argument("--feedback", nargs="*", default=["two-point", "one-point"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("reports/bandit.jsonl"))
    arguments = parser.parse_args()
    results = Results(arguments.results)
    lines: list[str] = []
    values = [name for name in arguments.sets if name in VALUES]
    classes = [name for name in arguments.sets if name in CHECKPOINTS]
    for feedback in arguments.feedback if values else ():
        lines += values_table(results, values, feedback, arguments.seeds)
        draw_values(results, values, feedback, arguments.results.with_suffix(f".{feedback}.png"))
    for leaf in arguments.leaves if classes else ():
        lines += classes_table(results, classes, leaf, arguments.seeds)
    print("\n".join(lines))
    arguments.results.with_suffix(".md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
