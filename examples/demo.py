"""Three scenes: a tree and a policy on digits that come with scikit-learn, a tree to look at.

Run it with `make demo`; needs no files, writes into demo/.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import dgtrees
from dgtrees import DGTBandit, DGTClassifier
from dgtrees.bandit.curve import Curve
from dgtrees.model.plot import plot_curves, plot_node_images
from dgtrees.paper.baselines import LinUCB

matplotlib.use("Agg")
OUT = Path("demo")
CHECKPOINTS = (200, 400, 800, 1400)


def compile_all() -> None:
    """Call every compiled loop once, before anything is timed."""
    X, y = np.random.rand(200, 3), np.arange(200) % 2
    DGTClassifier(max_depth=2, max_epochs=1).fit(X, y)
    DGTClassifier().fit(X, y)
    policy = DGTBandit(n_actions=2)
    for row, label in zip(X, y, strict=True):
        policy.learn(row, action=int(label), probability=0.5, loss=0.0)
    policy.decide(X[0])


def microseconds(model, X) -> float:
    """Per row, for ten thousand rows at once; the best of three."""
    rows = np.tile(X, (-(-10_000 // len(X)), 1))[:10_000]
    took = []
    for _ in range(3):
        started = time.perf_counter()
        model.predict(rows)
        took.append(time.perf_counter() - started)
    return min(took) / len(rows) * 1e6


def tuned_cart() -> GridSearchCV:
    sizes = {"max_leaf_nodes": [4, 8, 16, 24, 32, 64, 128, None]}
    return GridSearchCV(DecisionTreeClassifier(random_state=0), sizes, cv=5)


def classify(console: Console, X, digits) -> None:
    """One tree beside others, at their defaults; CART's size is chosen by cross-validation."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, np.where(digits % 2, "odd", "even"), test_size=0.25, stratify=digits, random_state=0
    )
    models = {
        "DGTClassifier(), one tree": DGTClassifier(random_state=0),
        "CART, tuned": tuned_cart(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosting, 100 trees": GradientBoostingClassifier(random_state=0),
    }
    table = Table("", "right on new digits", "fit, s", "predict, µs")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, model in models.items():
        started = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - started
        cost = microseconds(model, X_test)
        table.add_row(name, f"{model.score(X_test, y_test):.1%}", f"{seconds:.1f}", f"{cost:.2f}")
    console.print(table)
    tree = models["DGTClassifier(), one tree"]
    tree.save(OUT / "digits.dgt")
    again = dgtrees.load(OUT / "digits.dgt")
    assert np.array_equal(again.predict(X_test), tree.predict(X_test))
    console.print(
        f"Learnt from {len(X_train):,} pictures, judged on {len(X_test)}. The tree chose its size "
        f"by itself; it has {tree.get_n_leaves()} leaves, and a prediction takes at most "
        f"{tree.tree_.flops:,} multiply-adds.\n"
    )


def decide(console: Console, X, y) -> None:
    """Two policies, the same digits; each hears only whether its own guess was right."""
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    X_test, y_test = X[1400:], y[1400:]
    policies = {
        "DGTBandit()": DGTBandit(n_actions=10, random_state=0),
        "LinUCB": LinUCB(10, random_state=0),
    }
    curves = {name: Curve(accuracy=True) for name in policies}
    wrong = dict.fromkeys(policies, 0)
    table = Table("guesses made", *policies, caption="right on 397 digits that neither has seen")
    with Live(table, console=console):
        for start, end in pairwise((0, *CHECKPOINTS)):
            cells = []
            for name, policy in policies.items():
                for row in range(start, end):
                    decision = policy.decide(X[row])
                    loss = float(decision.action != y[row])
                    policy.learn(X[row], decision, loss)
                    wrong[name] += loss
                right = float(np.mean(policy.predict(X_test) == y_test))
                curves[name].queries.append(end)
                curves[name].held_out.append(right)
                curves[name].progressive.append(1 - wrong[name] / end)
                cells.append(f"{'█' * round(20 * right):20} {right:4.0%}")
            table.add_row(f"{end:,}", *cells)
    if not console.is_terminal:
        console.print()
    plot_curves(curves).figure.savefig(OUT / "policies.png", dpi=120)


def crossing_lines(rng, count):
    """Points of two classes, divided by two lines; 3 % of the labels are wrong."""
    points = rng.uniform(0, 1, size=(count, 2))
    u, v = points.T
    above = (u + v > 0.85) ^ (u - 0.6 * v > 0.35)
    return points, np.where(above ^ (rng.random(count) < 0.03), "A", "B")


def look(console: Console, X, digits) -> None:
    """A tree of two levels as rules and as regions, and trees as pictures."""
    digits_tree = DGTClassifier(max_depth=5, random_state=0).fit(X, digits)
    plot_node_images(digits_tree).figure.savefig(OUT / "digits-tree.png", dpi=120)

    rng = np.random.default_rng(0)
    points, classes = crossing_lines(rng, 600)
    new_points, new_classes = crossing_lines(rng, 20_000)
    tree = DGTClassifier(max_depth=2, random_state=0).fit(points, classes)
    cart = tuned_cart().fit(points, classes)
    linear = LogisticRegression().fit(points, classes)
    rules = dgtrees.export_text(tree, feature_names=["u", "v"])
    console.print(rules, markup=False, highlight=False)
    dgtrees.plot_tree(tree, feature_names=["u", "v"]).figure.savefig(OUT / "rules.png", dpi=120)
    leaves = cart.best_estimator_.get_n_leaves()
    console.print(
        f"Right on 20,000 new points, of which 3 % are labelled wrongly: this tree of "
        f"{tree.get_n_leaves()} leaves {tree.score(new_points, new_classes):.1%}, CART with its "
        f"{leaves} leaves {cart.score(new_points, new_classes):.1%}, logistic regression "
        f"{linear.score(new_points, new_classes):.1%}."
    )
    draw_regions({"CART": cart.best_estimator_, "dgtrees": tree}, points, classes)


def draw_regions(trees, points, classes) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
    for (name, tree), ax in zip(trees.items(), axes, strict=True):
        DecisionBoundaryDisplay.from_estimator(
            tree, points, response_method="predict", cmap="PuOr", alpha=0.35, eps=0, ax=ax
        )
        ax.scatter(*points.T, c=classes == "B", s=7, cmap="PuOr")
        ax.set(title=f"{name}: {tree.get_n_leaves()} leaves", xlabel="u", ylabel="v")
    figure.savefig(OUT / "regions.png", dpi=120)


def main() -> None:
    console = Console()
    OUT.mkdir(exist_ok=True)
    with console.status("compiling (once per machine) ..."):
        compile_all()
    X, y = load_digits(return_X_y=True)
    console.rule("1. One tree: is the digit in a small picture odd or even?")
    classify(console, X, y)
    console.rule("2. A policy: which digit? It hears only whether its guess was right")
    decide(console, X, y)
    console.rule("3. A tree to look at: to which class belongs a point (u, v)?")
    look(console, X, y)
    console.rule("Written to demo/")
    console.print("regions.png, rules.png, digits-tree.png, policies.png, and the model digits.dgt")
    console.print("\nTry next:")
    console.print("  .venv/bin/dgt show demo/digits.dgt")
    console.print("  .venv/bin/dgt fit train.csv --target label -o model.dgt    (a table of yours)")
    console.print("  .venv/bin/python -m pydoc dgtrees.DGTBandit")


if __name__ == "__main__":
    main()
