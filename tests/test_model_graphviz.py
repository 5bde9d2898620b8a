"""export_dot: Graphviz graphs. Read back here with a grammar of the part that is written."""

import re

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTClassifier, DGTRegressor, ObliqueForest, export_dot
from exported import random_tree

STRING = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTE = rf"\w+=(?:{STRING}|\w+)"
ATTRIBUTES = rf"\[{ATTRIBUTE}(?:, {ATTRIBUTE})*\]"
STATEMENT = re.compile(
    rf"  (?P<node>t\d+[nl]\d+) (?P<look>{ATTRIBUTES});"
    rf"|  (?P<above>t\d+[nl]\d+) -> (?P<below>t\d+[nl]\d+) {ATTRIBUTES};"
    rf"|  (?:graph|node|edge) {ATTRIBUTES};|  subgraph cluster_\d+ {{ label={STRING};|  }}"
)


def read(text):
    """Nodes with their attributes, and edges."""
    lines = text.splitlines()
    assert lines[0] == "digraph tree {" and lines[-1] == "}"
    nodes, edges = {}, []
    for line in lines[1:-1]:
        found = STATEMENT.fullmatch(line)
        assert found, line
        if found["node"]:
            nodes[found["node"]] = found["look"]
        elif found["above"]:
            edges.append((found["above"], found["below"]))
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges


def test_classes_have_colours_and_decisions_their_largest_weights(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({'a "b"': rng.normal(size=300), "c\\d": rng.choice(["x", "y"], 300)})
    model = DGTClassifier(2, max_epochs=5, random_state=0).fit(X, X['a "b"'] > 0)
    text = export_dot(model, tmp_path / "tree.dot", max_weights=2)
    assert (tmp_path / "tree.dot").read_text() == text
    nodes, edges = read(text)
    leaves = [look for name, look in nodes.items() if "l" in name]
    assert len(leaves) == model.get_n_leaves() and len(edges) == 2 * model.tree_.n_nodes
    assert all("fillcolor" in look and "rows" in look for look in leaves)
    assert 'a \\"b\\"' in nodes["t0n0"] and ">= 0?" in nodes["t0n0"]


def test_depth_is_cut_and_linear_leaves_and_forests_are_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = DGTRegressor(3, leaf="linear", max_epochs=2, random_state=0).fit(X, X)
    nodes, _ = read(export_dot(model, max_depth=1))
    assert len(nodes) == 3 and all("leaves below" in nodes[name] for name in ("t0n1", "t0n2"))
    nodes, _ = read(export_dot(model))
    assert any("value 2: " in look for look in nodes.values())
    nodes, _ = read(export_dot(ObliqueForest([random_tree(rng, 2, 1), random_tree(rng, 2, 0)])))
    assert "t1l0" in nodes and "t0n0" in nodes


def test_no_colours_on_request_and_wrong_arguments_refused():
    tree = random_tree(np.random.default_rng(0), 2, 2)
    assert 'fillcolor="' not in export_dot(tree, filled=False)
    with pytest.raises(ValueError, match="max_weights must be at least 1, got 0"):
        export_dot(tree, max_weights=0)
    with pytest.raises(ValueError, match="max_depth must be at least 0, got -2"):
        export_dot(tree, max_depth=-2)
