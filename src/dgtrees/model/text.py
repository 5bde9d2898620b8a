"""A tree as text: rules in the names and units of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import softmax

from dgtrees.tables.encoding import Column
from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "count_leaves",
    "describe_leaf",
    "describe_split",
    "joined",
    "leaf_functions",
    "linear_terms",
    "on_one_line",
    "short_number",
    "split_terms",
    "tree_text",
]


def tree_text(
    tree: ObliqueTree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_weights: int = 4,
    digits: int = 3,
    *,
    feature_scale: Sequence[float] | np.ndarray | None = None,
    leaf_rows: Sequence[float] | np.ndarray | None = None,
    max_depth: int | None = None,
    bent: Mapping[int, Column] | None = None,
    leaf_words: Sequence[str] | None = None,
) -> str:
    """The tree as indented rules, the largest weights of every split first.

    Parameters
    ----------
    class_names : sequence of str, optional
        With them leaves are shown as probabilities of the likeliest classes.
    max_weights : int, default 4
        Weights shown a decision.
    feature_scale : array-like of shape (d,), optional
        Spread of every feature: weights are then ranked by weight times spread, which makes
        features of different units comparable; they are shown in the units of the data.
    leaf_rows : array-like of shape (leaves,), optional
        Training rows of every leaf, shown beside it.
    max_depth : int, optional
        Levels of decisions to show.
    bent : mapping, optional
        Features that are bent (`Model.bent`): what such a one decides alone is shown in its units.
    leaf_words : sequence of str, optional
        What to show for every leaf (`Model.leaf_words`) in place of what it holds.

    Examples
    --------
    >>> tree = ObliqueTree.complete([[1.0, -2.0]], [0.5], [[10.0], [20.0]])
    >>> print(tree_text(tree, ["height", "age"]))
    -2 age + 1 height + 0.5 >= 0?
      no:  10
      yes: 20
    """
    feature_names = None if feature_names is None else [on_one_line(n) for n in feature_names]
    class_names = None if class_names is None else [on_one_line(n) for n in class_names]
    lines: list[str] = []

    def write(child: int, indent: str, label: str) -> None:
        if child < 0:
            rows = "" if leaf_rows is None else f"  ({_rows(leaf_rows[~child])})"
            if leaf_words is not None:
                leaf = leaf_words[~child]
            else:
                leaf = describe_leaf(tree, ~child, class_names, digits)
            lines.append(f"{indent}{label}{leaf}{rows}")
            return
        if max_depth is not None and len(indent) // 2 >= max_depth:
            lines.append(f"{indent}{label}... {count_leaves(tree, child)} leaves below")
            return
        look = feature_names, max_weights, digits, feature_scale, bent
        split = describe_split(tree, child, *look)
        lines.append(f"{indent}{label}{split}")
        write(int(tree.left[child]), indent + "  ", "no:  ")
        write(int(tree.right[child]), indent + "  ", "yes: ")

    write(0 if tree.n_nodes else ~0, "", "")
    return "\n".join(lines)


def on_one_line(name: str) -> str:
    """A name without its line breaks."""
    return " ".join(str(name).splitlines())


def describe_split(
    tree: ObliqueTree,
    node: int,
    feature_names: Sequence[str] | None = None,
    max_weights: int = 4,
    digits: int = 3,
    feature_scale: Sequence[float] | np.ndarray | None = None,
    bent: Mapping[int, Column] | None = None,
) -> str:
    """One decision, such as ``-2 age + 1 height + 0.5 >= 0?``."""
    look = feature_names, max_weights, digits, feature_scale, bent
    return f"{joined(split_terms(tree, node, *look))} >= 0?"


def split_terms(
    tree: ObliqueTree,
    node: int,
    feature_names: Sequence[str] | None = None,
    max_weights: int = 4,
    digits: int = 3,
    feature_scale: Sequence[float] | np.ndarray | None = None,
    bent: Mapping[int, Column] | None = None,
) -> list[str]:
    """Terms of a decision; a bent column that decides alone has a threshold in its own units."""
    weights, bias = tree.weights[node], float(tree.bias[node])
    used = np.flatnonzero(weights)
    column = (bent or {}).get(int(used[0])) if len(used) == 1 else None
    if column is None:
        return linear_terms(weights, bias, feature_names, max_weights, digits, feature_scale)
    j = int(used[0])
    sign = float(np.sign(weights[j]))
    threshold = column.unbend(-bias / float(weights[j]))
    given = column.bent_name if feature_names is None else feature_names[j]
    own = column.name if given == on_one_line(column.bent_name) else given
    return [
        f"{short_number(sign, digits)} {on_one_line(own)}",
        short_number(-sign * threshold, digits),
    ]


def linear_terms(
    weights: np.ndarray,
    constant: float,
    feature_names: Sequence[str] | None = None,
    max_weights: int = 4,
    digits: int = 3,
    feature_scale: Sequence[float] | np.ndarray | None = None,
) -> list[str]:
    """The largest terms of a linear function, how many more there are, and its constant."""
    size = np.abs(weights) if feature_scale is None else np.abs(weights * np.asarray(feature_scale))
    order = np.argsort(-size, kind="stable")
    shown = [j for j in order[:max_weights] if weights[j] != 0]
    terms = [
        f"{short_number(weights[j], digits)} "
        f"{f'x{j}' if feature_names is None else feature_names[j]}"
        for j in shown
    ]
    rest = int(np.count_nonzero(weights)) - len(shown)
    if rest:
        terms.append(f"({rest} more)")
    return [*terms, short_number(constant, digits)]


def joined(terms: Sequence[str], between: str = " ") -> str:
    """Terms as a sum."""
    first, *others = terms
    signed = [f"- {t[1:]}" if t.startswith("-") else f"+ {t}" for t in others]
    return between.join([first, *signed])


def count_leaves(tree: ObliqueTree, child: int) -> int:
    """Leaves below a node (or 1, for ``~leaf``)."""
    if child < 0:
        return 1
    return count_leaves(tree, int(tree.left[child])) + count_leaves(tree, int(tree.right[child]))


def _rows(rows: float) -> str:
    return f"{rows:,.0f} row{'' if round(rows) == 1 else 's'}"


def describe_leaf(
    tree: ObliqueTree, leaf: int, class_names: Sequence[str] | None = None, digits: int = 3
) -> str:
    """What a leaf predicts: likeliest classes with probabilities, or values."""
    scores = tree.leaf_values[leaf]
    slope = " + linear" if tree.linear else ""
    if class_names is None:
        return ", ".join(short_number(value, digits) for value in scores) + slope
    shares = softmax(scores)
    likeliest = [k for k in np.argsort(-shares, kind="stable")[:3] if shares[k] >= 0.01]
    return ", ".join(f"{class_names[k]} {shares[k]:.0%}" for k in likeliest) + slope


def leaf_functions(
    tree: ObliqueTree,
    leaf: int,
    names: Sequence[str],
    classes: Sequence[str] | None,
    max_weights: int,
    digits: int,
    feature_scale: np.ndarray | None,
) -> list[str]:
    """The linear functions of a leaf, one per line; none where it is constant."""
    if tree.leaf_weights is None:
        return []
    lines = []
    for k, weights in enumerate(tree.leaf_weights[leaf]):
        terms = linear_terms(
            weights, tree.leaf_values[leaf, k], names, max_weights, digits, feature_scale
        )
        what = "value" if tree.n_outputs == 1 else f"value {k}"
        lines.append(f"{what if classes is None else f'score of {classes[k]}'}: {joined(terms)}")
    return lines


def short_number(value: float, digits: int = 3) -> str:
    """A number as short as it may be."""
    text = f"{value + 0.0:.{digits}g}"  # + 0.0: no minus before a zero
    # 28000 reads better than 2.8e+04; beyond that, counting zeros does not.
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e9 else text
