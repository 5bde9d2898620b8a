"""Train trees on two data sets that come with scikit-learn, compare them, draw them.

Run it with `make demo`; needs no files, writes into demo/.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor
from dgtrees.model.plot import plot_history, plot_node_images, plot_tree

matplotlib.use("Agg")
OUT = Path("demo")


def leaves_and_cost(model) -> tuple[str, str]:
    """Leaves, and multiply-adds (or comparisons, for axis-parallel trees) of one prediction."""
    if isinstance(model, (DGTClassifier, DGTRegressor)):
        return str(model.get_n_leaves()), f"{model.tree_.flops:,}"
    if isinstance(model, (DecisionTreeClassifier, DecisionTreeRegressor)):
        return str(model.get_n_leaves()), f"{model.get_depth()} tests"
    if hasattr(model, "estimators_"):
        trees = model.estimators_.ravel()
        leaves = sum(tree.get_n_leaves() for tree in trees)
        return f"{leaves:,}", f"{sum(tree.get_depth() for tree in trees):,} tests"
    return "-", f"{model[-1].coef_.size:,}"


def compare(console: Console, title: str, metric: str, models, parts, score) -> dict:
    """Fit every model on the same rows and print one line for each."""
    X, X_val, X_test, y, y_val, y_test = parts
    columns = ("model", metric, "leaves", "multiply-adds", "fit, s")
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    fitted = {}
    for name, model in models.items():
        fixed = "height" in name  # such a tree takes validation rows, to choose its epoch by
        validation = {"X_val": X_val, "y_val": y_val} if fixed else {}
        rows, target = (X, y) if validation else (np.vstack([X, X_val]), np.append(y, y_val))
        started = time.perf_counter()
        fitted[name] = model.fit(rows, target, **validation)
        seconds = time.perf_counter() - started
        value = score(y_test, model.predict(X_test))
        table.add_row(name, f"{value:.3f}", *leaves_and_cost(model), f"{seconds:.2f}")
    table.caption = "multiply-adds (tests, for axis-parallel trees) of one prediction, at most"
    console.print(table)
    return fitted


def split(X, y):
    """60 % to train, 20 % to choose the epoch, 20 % to judge."""
    a, test, ya, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    train, val, y_train, y_val = train_test_split(a, ya, test_size=0.25, random_state=0)
    return train, val, test, y_train, y_val, y_test


def main() -> None:
    console = Console()
    OUT.mkdir(exist_ok=True)
    # The first call of every compiled loop compiles it; do that before anything is timed.
    with console.status("compiling (once) ..."):
        DGTClassifier().fit(np.random.rand(40, 3), np.arange(40) % 2)
        DGTRegressor().fit(np.random.rand(40, 3), np.arange(40) % 7)

    digits = load_digits()
    digit_models = {
        "DGTClassifier()": DGTClassifier(random_state=0),
        "DGTClassifier, height 8": DGTClassifier(max_depth=8, random_state=0),
        "CART": DecisionTreeClassifier(max_depth=8, random_state=0),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosting, 1,000 trees": GradientBoostingClassifier(random_state=0),
    }
    parts = split(digits.data, digits.target)
    accuracy = lambda truth, guess: float(np.mean(truth == guess))  # noqa: E731
    fitted = compare(
        console, "Digits: 8 x 8 images, 10 classes", "accuracy", digit_models, parts, accuracy
    )
    console.print(f"[dim]{fitted['DGTClassifier()'].chosen_}[/dim]\n")
    clf = fitted["DGTClassifier, height 8"]

    diabetes = load_diabetes(scaled=False)
    regressors = {
        "DGTRegressor()": DGTRegressor(random_state=0),
        "DGTRegressor, height 3": DGTRegressor(max_depth=3, random_state=0),
        "DGTRegressor, height 2, linear leaves": DGTRegressor(2, leaf="linear", random_state=0),
        "CART": DecisionTreeRegressor(max_depth=3, random_state=0),
        "ridge": make_pipeline(StandardScaler(), Ridge()),
        "boosting, 100 trees": GradientBoostingRegressor(random_state=0),
    }
    parts_d = split(diabetes.data, diabetes.target)
    title = "Diabetes: disease progression from 10 measurements"
    fitted = compare(console, title, "test RMSE", regressors, parts_d, root_mean_squared_error)
    console.print(f"[dim]{fitted['DGTRegressor()'].chosen_}[/dim]\n")
    reg = fitted["DGTRegressor, height 3"]

    clf.save(OUT / "digits.dgt")
    loaded = dgtrees.load(OUT / "digits.dgt")
    assert np.array_equal(loaded.predict(parts[2]), clf.predict(parts[2]))
    plot_node_images(clf).figure.savefig(OUT / "digits-tree.png", dpi=120)
    ax = plot_tree(reg, feature_names=diabetes.feature_names)
    ax.figure.savefig(OUT / "diabetes-tree.png", dpi=120)
    ax = plot_history(clf)
    ax.set_title("Digits: training")
    ax.figure.savefig(OUT / "digits-training.png", dpi=120)
    rules = dgtrees.export_text(reg, feature_names=diabetes.feature_names)
    (OUT / "diabetes-rules.txt").write_text(rules + "\n")

    size = (OUT / "digits.dgt").stat().st_size / 1024
    console.print(f"\nWritten to {OUT}/:")
    console.print(f"  digits.dgt           the model ({size:.0f} kB), read back and checked")
    console.print("  digits-tree.png      the digits tree: node weights as images")
    console.print("  digits-training.png  its training curve")
    console.print("  diabetes-tree.png    the diabetes tree")
    console.print("  diabetes-rules.txt   the same tree as rules")


if __name__ == "__main__":
    main()
