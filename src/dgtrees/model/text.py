"""A tree as text: rules in the names and units of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import softmax

from dgtrees.tables.encoding import Column
from dgtrees.tree.leaf import outputs_at
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

_MOST_FUNCTIONS = 4
"""Functions of a linear leaf that are shown."""


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
    typical: np.ndarray | None = None,
) -> str:
    """The tree as indented rules, the largest weights of every split first.

    Linear leaves show their function. Classes have one for each, or, of two classes, one for the
    log-odds of the second; the leaf then says what a typical row is told there. A function that all
    leaves share, up to a constant, is shown once, below the rules.

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
    typical : ndarray of shape (d,), optional
        A typical encoded row (`Model.typical`), which linear leaves are shown at; 0 without it.

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
    sloped = tree.linear and leaf_words is None
    shared = sloped and _one_slope(tree)
    one_number = sloped and not shared and class_names is None and tree.n_outputs == 1
    where = " for a typical row" if typical is not None else " at x = 0"
    functions = feature_names, class_names, max_weights, digits, feature_scale

    def write(child: int, indent: str, label: str) -> None:
        if child < 0:
            rows = "" if leaf_rows is None else f"  ({_rows(leaf_rows[~child])})"
            below: list[str] = []
            if leaf_words is not None:
                leaf = leaf_words[~child]
            elif one_number:
                leaf = _functions(tree, ~child, *functions)[0].removeprefix("value: ")
            else:
                leaf = describe_leaf(tree, ~child, class_names, digits, typical)
                if sloped and not shared:
                    leaf += where
                    below = _functions(tree, ~child, *functions)
            lines.append(f"{indent}{label}{leaf}{rows}")
            lines.extend(f"{indent}       {line}" for line in below)
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
    if shared:
        place = "a typical row" if typical is not None else "x = 0"
        lines += [
            "",
            f"Leaves show their answers for {place}. Their scores are a constant of their own plus:"
            if class_names is not None
            else f"Leaves show their values for {place}. These are a constant of their own plus:",
        ]
        lines += [f"  {line}" for line in _functions(tree, 0, *functions, constant=False)]
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
    tree: ObliqueTree,
    leaf: int,
    class_names: Sequence[str] | None = None,
    digits: int = 3,
    row: np.ndarray | None = None,
) -> str:
    """What a leaf predicts, at a row if it is linear: likeliest classes with shares, or values."""
    scores = outputs_at(tree, row)[leaf]
    if class_names is None:
        return ", ".join(short_number(value, digits) for value in scores)
    shares = softmax(scores)
    likeliest = [k for k in np.argsort(-shares, kind="stable")[:3] if shares[k] >= 0.01]
    return ", ".join(f"{class_names[k]} {shares[k]:.0%}" for k in likeliest)


def _one_slope(tree: ObliqueTree) -> bool:
    """Whether several leaves differ by a constant only."""
    slopes = tree.leaf_weights
    return slopes is not None and len(slopes) > 1 and bool((slopes == slopes[0]).all())


def _functions(
    tree: ObliqueTree,
    leaf: int,
    names: Sequence[str] | None,
    classes: Sequence[str] | None,
    max_weights: int,
    digits: int,
    feature_scale: Sequence[float] | np.ndarray | None,
    constant: bool = True,
) -> list[str]:
    """Functions of a linear leaf, a line each and a few lines at most; of two classes one."""
    assert tree.leaf_weights is not None  # the leaf is linear
    slopes, constants = tree.leaf_weights[leaf], tree.leaf_values[leaf]
    if classes is None:
        called = ["value"] if len(slopes) == 1 else [f"value {k}" for k in range(len(slopes))]
    elif len(classes) == 2:
        slopes, constants = slopes[1:] - slopes[:1], constants[1:] - constants[:1]
        called = [f"log-odds of {classes[1]}"]
    else:
        called = [f"score of {name}" for name in classes]
    lines = []
    for name, weights, added in zip(called[:_MOST_FUNCTIONS], slopes, constants, strict=False):
        terms = linear_terms(weights, added, names, max_weights, digits, feature_scale)
        terms = terms if constant or len(terms) == 1 else terms[:-1]
        lines.append(f"{name}: {joined(terms)}")
    more = len(called) - len(lines)
    return [*lines, *([f"({more} more)"] if more else [])]


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
