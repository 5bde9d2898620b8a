"""`dgt show`: what is inside a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_fitted, save_picture
from dgtrees.cli.terminal import json_text, say
from dgtrees.errors import Problems
from dgtrees.tree.oblique import ObliqueTree

if TYPE_CHECKING:
    from dgtrees.model.model import Model, ModelLike

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
    from dgtrees.model.model import model_of
    from dgtrees.model.text import tree_text

    problems = Problems()
    check_files(problems, reads=(model,), pictures=(png,))
    problems.require(depth is None or depth >= 0, f"--depth must be at least 0, got {depth}")
    problems.require(weights >= 1, f"--weights must be at least 1, got {weights}")
    problems.settle()
    instead = "export_text(policy) and plot_tree(policy) show a policy"
    fitted = model_of(load_fitted(model, "show", instead, bare=True))
    shown, rows, name = _tree_of(fitted, tree)
    look: dict[str, Any] = {
        "feature_names": fitted.encoded_names,
        "class_names": fitted.answer.names,
        "feature_scale": fitted.facts.feature_scale,
        "leaf_rows": rows,
    }
    if json:
        say(json_text(_as_json(fitted, shown, rows)))
    elif not quiet:
        say(_heading(fitted, model, name) + "\n")
        own: dict[str, Any] = {"bent": fitted.bent, "leaf_words": fitted.leaf_words()}
        own["typical"] = fitted.typical
        say(tree_text(shown, max_depth=depth, max_weights=weights, **own, **look))
    if png is not None:
        thing, said = (fitted, {}) if fitted.alone else (shown, look)
        _draw(thing, png, max_depth=depth, max_features=weights, **said)


def _tree_of(fitted: Model, number: int | None) -> tuple[ObliqueTree, Any, str]:
    """The tree to show, its leaves' training rows, and what it is called."""
    trees = fitted.forest.trees
    if fitted.alone:
        if number is not None:
            raise ValueError(f"--tree is for forests, this is a {fitted.kind}")
        return trees[0], fitted.leaf_rows(), ""
    number = number or 0
    if not 0 <= number < len(trees):
        raise ValueError(f"--tree must be from 0 to {len(trees) - 1}, got {number}")
    rows = fitted.facts.leaf_rows
    return trees[number], rows and rows[number], f"tree {number} of {len(trees)}"


def _heading(fitted: Model, path: str, shown: str) -> str:
    from dgtrees.model.summary import summary_lines

    title, *more = summary_lines(fitted)
    return "\n".join([f"{path}: {title}", *more, *([f"{shown}:"] if shown else [])])


def _as_json(fitted: Model, tree: ObliqueTree, rows: Any) -> dict[str, Any]:
    """The whole tree as plain values: every number of it, and what it refers to."""
    labels, shares = fitted.answer.labels, fitted.facts.importances

    def child(index: int) -> dict[str, int]:
        return {"leaf": ~index} if index < 0 else {"node": index}

    return {
        "kind": fitted.kind,
        "task": fitted.answer.task,
        "columns": {column.name: column.kind for column in fitted.columns},
        "features": fitted.encoded_names,
        "bent": {
            column.name: {"center": column.bent[0], "spread": column.bent[1]}
            for column in fitted.bent.values()
        },
        "classes": None if labels is None else labels.tolist(),
        "importances": None if shares is None else shares.tolist(),
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


def _draw(tree: ModelLike, path: str, **look: Any) -> None:
    from dgtrees.model.plot import plot_tree

    save_picture(plot_tree(tree, **look).figure, path, dpi=120)
