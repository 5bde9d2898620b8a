"""export_dot: a model as a Graphviz graph, for `dot -Tsvg` and everything else that reads it."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.text import (
    count_leaves,
    describe_leaf,
    joined,
    leaf_functions,
    split_terms,
)
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.writing import whole_file

__all__ = ["export_dot"]

_MOST_LINES = 4  # functions of a linear leaf
_DIGITS = 3


def export_dot(
    model: ModelLike,
    path: str | os.PathLike[str] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    max_weights: int = 4,
    filled: bool = True,
) -> str:
    """A tree, or every tree of a forest, in Graphviz's language.

    Decisions show their largest weights, leaves the likeliest classes or the value. Colours of
    constant leaves tell the class, the stronger the surer; values go from white to blue.

    Parameters
    ----------
    model : fitted estimator, policy or ObliqueTree
    path : path, optional
        Where to write the text.
    feature_names : sequence of str, optional
        Names of the encoded columns, instead of the model's own.
    class_names : sequence of str, optional
    max_depth : int, optional
        Levels of decisions to draw; what lies below is shown as its number of leaves.
    max_weights : int, default 4
        Weights shown of a decision.
    filled : bool, default True
        Whether leaves have colours.

    Examples
    --------
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -2.0]], [0.5], [[10.0], [20.0]])
    >>> text = export_dot(tree, feature_names=["height", "age"])
    >>> print(text.splitlines()[4])
      t0n0 [label="-2 age\\n+ 1 height\\n+ 0.5\\n>= 0?"];
    """
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}")
    if max_weights < 1:
        raise ValueError(f"max_weights must be at least 1, got {max_weights}")
    parts = model_of(model)
    picture = _Picture(
        parts,
        parts.named_features(feature_names),
        parts.class_names(class_names),
        max_depth,
        max_weights,
        filled,
    )
    text = picture.text()
    if path is not None:
        with whole_file(path, text=True) as stream:
            stream.write(text)
    return text


class _Picture:
    """One graph in the making."""

    def __init__(
        self,
        parts: Model,
        names: list[str],
        classes: list[str] | None,
        max_depth: int | None,
        max_weights: int,
        filled: bool,
    ) -> None:
        self.parts, self.names, self.classes = parts, names, classes
        self.max_depth, self.max_weights, self.filled = max_depth, max_weights, filled
        values = np.concatenate([tree.leaf_values for tree in parts.forest.trees])
        self.low, self.high = float(values[:, 0].min()), float(values[:, 0].max())
        self.words = parts.leaf_words(names)
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole graph."""
        self.lines = [
            "digraph tree {",
            '  graph [fontname="sans-serif"];',
            '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];',
            '  edge [fontname="sans-serif"];',
        ]
        for number, tree in enumerate(self.parts.forest.trees):
            if not self.parts.alone:
                self.lines.append(f'  subgraph cluster_{number} {{ label="tree {number}";')
            self.place(tree, number, 0 if tree.n_nodes else ~0, 0)
            if not self.parts.alone:
                self.lines.append("  }")
        return "\n".join([*self.lines, "}"]) + "\n"

    def place(self, tree: ObliqueTree, number: int, child: int, level: int) -> str:
        """Write a decision or a leaf and all below it; returns its name."""
        name = f"t{number}n{child}" if child >= 0 else f"t{number}l{~child}"
        if child < 0:
            self.lines.append(f"  {name} [{self.leaf(tree, ~child)}];")
        elif self.max_depth is not None and level >= self.max_depth:
            label = _quoted([f"{count_leaves(tree, child)} leaves below"])
            self.lines.append(f'  {name} [label={label}, style="rounded,dashed"];')
        else:
            terms = split_terms(
                tree,
                child,
                self.names,
                self.max_weights,
                _DIGITS,
                self.parts.facts.feature_scale,
                self.parts.bent,
            )
            label = _quoted([*joined(terms, "\n").split("\n"), ">= 0?"])
            self.lines.append(f"  {name} [label={label}];")
            for side, answer in ((tree.left, "no"), (tree.right, "yes")):
                below = self.place(tree, number, int(side[child]), level + 1)
                self.lines.append(f'  {name} -> {below} [label="{answer}"];')
        return name

    def leaf(self, tree: ObliqueTree, leaf: int) -> str:
        """Attributes of a leaf."""
        parts = self.parts
        look = (self.names, self.classes, self.max_weights, _DIGITS, parts.facts.feature_scale)
        lines = leaf_functions(tree, leaf, *look)
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES:] = [f"({len(lines) - _MOST_LINES} more)"]
        if self.words is not None:
            lines = self.words[leaf].replace(": ", ", ", 1).split(", ")
        lines = lines or describe_leaf(tree, leaf, self.classes, _DIGITS).split(", ")
        rows = parts.leaf_rows() if parts.alone else None
        if rows is not None:
            lines.append(f"{rows[leaf]:,.0f} rows")
        if not self.filled or tree.linear:
            return f"label={_quoted(lines)}"
        return f'label={_quoted(lines)}, fillcolor="{self.colour(tree, leaf)}"'

    def colour(self, tree: ObliqueTree, leaf: int) -> str:
        """Hue, saturation and brightness: of the class, or of the (first) value."""
        values = tree.leaf_values[leaf]
        if self.classes is None:
            spread = self.high - self.low
            share = (values[0] - self.low) / spread if spread else 0.0
            return f"0.58 {0.6 * share:.3f} 1.000"
        shares = softmax(values)
        return f"{shares.argmax() / len(shares):.3f} {0.7 * shares.max():.3f} 1.000"


def _quoted(lines: Sequence[str]) -> str:
    """Lines of a label as Graphviz takes them."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(line.replace("\n", " ") for line in escaped) + '"'
