"""Doses of warfarin, learnt one patient after the other: DGTBandit, LinUCB, always a medium dose.

    DGTREES_DATA=... python -m benchmarks.warfarin --orders 10 --output warfarin.json
    python -m benchmarks.warfarin --draw warfarin.json --picture docs/comparison/warfarin.png

Patients come once, in random orders with the seeds 0, 1, ...; a policy names a weekly dose, low
(below 21 mg), medium or high (above 49 mg), and hears whether it was right. DGTBandit gets what is
known of a patient as it is, LinUCB the same columns from an encoder that has seen all patients
before. LinUCB runs with three widths of its bounds, and the best of them counts.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np

from dgtrees import DGTBandit
from dgtrees.paper.baselines import LinUCB
from dgtrees.paper.catalog import data_folder
from dgtrees.tables.encoder import Encoder

DOSES = ["low", "medium", "high"]
DOSE = "Therapeutic Dose of Warfarin"
NUMBERS = ["Height (cm)", "Weight (kg)", "Target INR"]
TEXTS = [
    "Gender", "Race", "Ethnicity", "Diabetes", "Congestive Heart Failure and/or Cardiomyopathy",
    "Valve Replacement", "Aspirin", "Simvastatin (Zocor)", "Amiodarone (Cordarone)",
    "Carbamazepine (Tegretol)", "Phenytoin (Dilantin)", "Rifampin or Rifampicin", "Current Smoker",
    "CYP2C9 consensus", "VKORC1 -1639 consensus",
]  # fmt: skip
ALPHAS = (0.1, 0.3, 1.0)


def patients(path: Path) -> tuple[list[dict], list[str]]:
    """What is known of patients, and the dose that turned out to be right."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8-sig")
    contexts, doses = [], []
    for row in csv.DictReader(io.StringIO(text)):
        if row[DOSE] in ("", "NA"):
            continue
        known = {name: cell for name, cell in row.items() if cell not in ("", "NA", None)}
        context = {name: float(known[name]) for name in NUMBERS if _is_number(known.get(name))}
        context |= {name: known[name] for name in TEXTS if name in known}
        if "Age" in known:  # "60 - 69", "90+"
            context["decade"] = float(known["Age"][0])
        contexts.append(context)
        dose = float(row[DOSE])
        doses.append(DOSES[int(dose >= 21) + int(dose > 49)])
    return contexts, doses


def _is_number(cell: str | None) -> bool:
    try:
        return cell is not None and np.isfinite(float(cell))
    except ValueError:
        return False


def ours(contexts: list[dict], doses: list[str], order: np.ndarray, seed: int) -> np.ndarray:
    policy = DGTBandit(actions=DOSES, random_state=seed)
    wrong = np.empty(len(order))
    for i, row in enumerate(order):
        decision = policy.decide(contexts[row])
        wrong[i] = float(decision.action != doses[row])
        policy.learn(contexts[row], decision, loss=wrong[i])
    return wrong


def linucb(X: np.ndarray, doses: list[str], order: np.ndarray, seed: int, alpha: float):
    policy = LinUCB(3, alpha=alpha, random_state=seed)
    wrong = np.empty(len(order))
    for i, row in enumerate(order):
        decision = policy.decide(X[row])
        wrong[i] = float(DOSES[decision.action] != doses[row])
        policy.learn(X[row], decision, wrong[i])
    return wrong


def encoded(contexts: list[dict]) -> np.ndarray:
    names = ["decade", *NUMBERS, *TEXTS]
    columns = [
        (name, np.array([context.get(name) for context in contexts], dtype=object))
        for name in names
    ]
    columns = [
        (name, values.astype(np.float64) if name in ("decade", *NUMBERS) else values)
        for name, values in columns
    ]
    return Encoder().fit(columns).expand(columns)


def run(orders: int) -> dict:
    contexts, doses = patients(data_folder() / "warfarin" / "warfarin.csv.gz")
    X = encoded(contexts)
    marks = np.unique(np.geomspace(50, len(doses), 40).astype(int))
    found: dict[str, list] = {}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(doses))
        wrong = {"DGTBandit": ours(contexts, doses, order, seed)}
        for alpha in ALPHAS:
            wrong[f"LinUCB, alpha {alpha}"] = linucb(X, doses, order, seed, alpha)
        wrong["always medium"] = np.array([float(doses[row] != "medium") for row in order])
        for name, losses in wrong.items():
            found.setdefault(name, []).append([float(losses[:mark].mean()) for mark in marks])
        print(
            seed,
            {name: round(float(losses.mean()), 4) for name, losses in wrong.items()},
            flush=True,
        )
    return {"patients": len(doses), "marks": marks.tolist(), "error_rate": found}


def draw(result: dict, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    last = {
        name: np.mean([curve[-1] for curve in curves])
        for name, curves in result["error_rate"].items()
    }
    best = min((name for name in last if name.startswith("LinUCB")), key=last.get)
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for name in ("DGTBandit", best, "always medium"):
        curves = np.array(result["error_rate"][name])
        mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=1)
        axes.plot(result["marks"], mean, label=f"{name}: {mean[-1]:.3f}")
        axes.fill_between(result["marks"], mean - spread, mean + spread, alpha=0.2)
    axes.set(xscale="log", xlabel="patients so far", ylabel="share of wrong doses so far")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--draw", type=Path)
    parser.add_argument("--picture", type=Path)
    told = parser.parse_args()
    result = json.loads(told.draw.read_text()) if told.draw else run(told.orders)
    if told.output:
        told.output.write_text(json.dumps(result))
    if told.picture:
        draw(result, told.picture)
    for name, curves in result["error_rate"].items():
        last = np.array([curve[-1] for curve in curves])
        print(f"{name}: {last.mean():.4f} +- {last.std(ddof=1) if len(last) > 1 else 0:.4f}")


if __name__ == "__main__":
    main()
