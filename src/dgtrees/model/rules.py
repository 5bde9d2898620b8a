"""export_text: a model's rules in the manner of scikit-learn's function of that name."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.special import softmax

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.text import joined, leaf_functions, on_one_line, split_terms
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["export_text"]


def export_text(
    model: ModelLike,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    max_weights: int | None = 4,
) -> str:
    """Rules of a tree, or of every tree of a forest, as text.

    Parameters
    ----------
    model : fitted estimator, policy or ObliqueTree
    feature_names : sequence of str, optional
        Names of the columns, or of the encoded ones (``encoded_feature_names_``), instead of the
        model's own.
    class_names : sequence of str, optional
        Names of the classes, instead of the labels.
    max_depth : int, default 10
        Levels of decisions to show; what is left out is named as truncated.
    spacing : int, default 3
        Width of the lines that show the level.
    decimals : int, default 2
        Digits after the point of leaf values. Weights, whose size depends on the units of the
        columns, have one significant digit more than that.
    show_weights : bool, default False
        Whether to show the probabilities of all classes in a leaf.
    max_weights : int or None, default 4
        Weights shown of a decision, largest first (times the column's spread where it is known);
        None shows all.

    Examples
    --------
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -2.0]], [0.5], [[10.0], [20.0]])
    >>> print(export_text(tree, feature_names=["height", "age"]))
    |--- -2 age + 1 height + 0.5 <  0
    |   |--- value: [10.00]
    |--- -2 age + 1 height + 0.5 >= 0
    |   |--- value: [20.00]
    """
    least = {"max_depth": (max_depth, 0), "spacing": (spacing, 1), "decimals": (decimals, 0)}
    if max_weights is not None:
        least["max_weights"] = (max_weights, 1)
    for name, (value, smallest) in least.items():
        if value < smallest:
            raise ValueError(f"{name} must be at least {smallest}, got {value}")
    parts = model_of(model)
    names = [on_one_line(name) for name in parts.named_features(feature_names)]
    classes = parts.class_names(class_names)
    classes = None if classes is None else [on_one_line(name) for name in classes]
    shown = len(names) if max_weights is None else max_weights
    words = parts.leaf_words(names)
    lines: list[str] = []

    def write(tree: ObliqueTree, child: int, level: int) -> None:
        before = ("|" + " " * spacing) * level + "|" + "-" * spacing + " "
        if child < 0 and words is not None:
            lines.append(before + words[~child])
            return
        if child < 0:
            leaf = _leaf(parts, tree, ~child, names, classes, shown, decimals, show_weights)
            lines.extend(before + line for line in leaf)
            return
        if level >= max_depth:
            lines.append(f"{before}truncated branch of depth {_depth_below(tree, child)}")
            return
        split = joined(
            split_terms(
                tree,
                child,
                names,
                shown,
                decimals + 1,
                parts.facts.feature_scale,
                parts.bent,
            )
        )
        for side, sign in ((tree.left, "< "), (tree.right, ">=")):
            lines.append(f"{before}{split} {sign} 0")
            write(tree, int(side[child]), level + 1)

    for number, tree in enumerate(parts.forest.trees):
        if not parts.alone:
            lines.append(f"tree {number}")
        write(tree, 0 if tree.n_nodes else ~0, 0)
    return "\n".join(lines)


def _leaf(
    parts: Model,
    tree: ObliqueTree,
    leaf: int,
    names: Sequence[str],
    classes: Sequence[str] | None,
    max_weights: int,
    decimals: int,
    show_weights: bool,
) -> list[str]:
    look = (names, classes, max_weights, decimals + 1, parts.facts.feature_scale)
    if functions := leaf_functions(tree, leaf, *look):
        return functions
    values = tree.leaf_values[leaf]
    if classes is None:
        return [f"value: [{', '.join(f'{value:.{decimals}f}' for value in values)}]"]
    emphasis = parts.answer.emphasis
    best = values if emphasis is None else values + emphasis
    label = f"class: {classes[int(best.argmax())]}"
    if not show_weights:
        return [label]
    shares = ", ".join(f"{share:.{decimals}f}" for share in softmax(values))
    return [f"weights: [{shares}] {label}"]


def _depth_below(tree: ObliqueTree, node: int) -> int:
    children = (int(tree.left[node]), int(tree.right[node]))
    return 1 + max(0 if child < 0 else _depth_below(tree, child) for child in children)
