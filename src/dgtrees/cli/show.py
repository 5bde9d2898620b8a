"""`dgt show`: what is inside a model file."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_model, save_picture
from dgtrees.cli.terminal import json_text, say
from dgtrees.errors import Problems
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["show"]


def show(
    model: Annotated[
        str, typer.Argument(help="Model file that dgt fit wrote; - reads standard input.")
    ],
    png: Annotated[
        str | None, typer.Option(help="Draw the tree into this picture (.png, .svg or .pdf).")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Levels of decisions to show.")] = None,
    weights: Annotated[int, typer.Option(help="Weights to show of every decision.")] = 4,
    tree: Annotated[
        int | None, typer.Option(help="Which tree of a forest to show, from 0; the first if unset.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Print a model as rules in the names and units of its table, and draw it.

    Weights that matter most (weight times the spread of the column) come first.
    """
    from dgtrees.model.text import tree_text

    problems = Problems()
    check_files(problems, reads=(model,), pictures=(png,))
    problems.require(depth is None or depth >= 0, f"--depth must be at least 0, got {depth}")
    problems.require(weights >= 1, f"--weights must be at least 1, got {weights}")
    problems.settle()
    fitted = load_model(model)
    if hasattr(fitted, "learn"):
        raise ValueError(
            f"dgt show takes a model that dgt fit wrote, got a {type(fitted).__name__}: in Python, "
            "export_text(policy) and plot_tree(policy) show a policy"
        )
    shown, rows, name = _tree_of(fitted, tree)
    classes = getattr(fitted, "classes_", None)
    look = {
        "feature_names": fitted.encoded_feature_names_,
        "class_names": None if classes is None else [str(c) for c in classes.tolist()],
        "feature_scale": fitted.encoded_feature_scale_,
        "leaf_rows": rows,
    }
    if json:
        say(json_text(_as_json(fitted, shown, rows)))
    elif not quiet:
        say(_heading(fitted, model, name) + "\n")
        say(tree_text(shown, max_depth=depth, max_weights=weights, **look))
    if png is not None:
        _draw(shown, png, max_depth=depth, max_features=weights, **look)


def _tree_of(fitted: Any, number: int | None) -> tuple[ObliqueTree, Any, str]:
    """The tree to show, its leaves' training rows, and what it is called."""
    if not hasattr(fitted, "forest_"):
        if number is not None:
            raise ValueError(f"--tree is for forests, this is a {type(fitted).__name__}")
        return fitted.tree_, fitted.leaf_rows_, ""
    trees = fitted.forest_.trees
    number = number or 0
    if not 0 <= number < len(trees):
        raise ValueError(f"--tree must be from 0 to {len(trees) - 1}, got {number}")
    return trees[number], fitted.leaf_rows_[number], f"tree {number} of {len(trees)}"


def _heading(fitted: Any, path: str, shown: str) -> str:
    tree = getattr(fitted, "forest_", None) or fitted.tree_
    if fitted._task == "classification":
        task = "classification: " + ", ".join(str(c) for c in fitted.classes_.tolist()[:8])
        task += ", ..." if len(fitted.classes_) > 8 else ""
    else:
        task = "regression"
    order = np.argsort(-fitted.feature_importances_, kind="stable")[:5]
    names = list(fitted.column_kinds_)
    important = ", ".join(f"{names[j]} {fitted.feature_importances_[j]:.0%}" for j in order)
    return "\n".join(
        [
            f"{path}: {type(fitted).__name__}, {task}",
            f"{fitted.n_features_in_} columns, depth {tree.depth}, {tree.n_leaves} leaves, "
            f"at most {tree.flops:,} multiply-adds a prediction",
            f"most important: {important}",
            *([f"{shown}:"] if shown else []),
        ]
    )


def _as_json(fitted: Any, tree: ObliqueTree, rows: Any) -> dict[str, Any]:
    """The whole tree as plain values: every number of it, and what it refers to."""
    classes = getattr(fitted, "classes_", None)

    def child(index: int) -> dict[str, int]:
        return {"leaf": ~index} if index < 0 else {"node": index}

    return {
        "kind": type(fitted).__name__,
        "task": fitted._task,
        "columns": fitted.column_kinds_,
        "features": fitted.encoded_feature_names_,
        "classes": None if classes is None else classes.tolist(),
        "importances": fitted.feature_importances_.tolist(),
        "depth": tree.depth,
        "nodes": [
            {
                "weights": tree.weights[n].tolist(),
                "bias": float(tree.bias[n]),
                "no": child(int(tree.left[n])),
                "yes": child(int(tree.right[n])),
            }
            for n in range(tree.n_nodes)
        ],
        "leaves": [
            {
                "values": tree.leaf_values[k].tolist(),
                "weights": None if tree.leaf_weights is None else tree.leaf_weights[k].tolist(),
                "rows": None if rows is None else float(rows[k]),
            }
            for k in range(tree.n_leaves)
        ],
    }


def _draw(tree: ObliqueTree, path: str, **look: Any) -> None:
    from dgtrees.model.plot import plot_tree

    save_picture(plot_tree(tree, **look).figure, path, dpi=120)
