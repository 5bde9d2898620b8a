"""A model as an ONNX graph: rows as users have them in, labels or values and leaves out.

The encoder becomes nodes of the graph, the tree a matrix product and a TreeEnsemble (see
`onnx_routing`, which makes leaves agree with Python to the last row), leaf contents a look-up.
Everything is computed in float64. Needs the package onnx; a runtime such as onnxruntime runs it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.onnx_dates import add_dates
from dgtrees.model.onnx_graph import Graph, fixed_order_dot
from dgtrees.model.onnx_routing import leaves_of_rows
from dgtrees.tables.bending import FARTHEST, POWER, ROOTS
from dgtrees.tables.encoding import CATEGORY, DATE, NUMBER, Column
from dgtrees.tree.linear_sums import linear_leaves
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.writing import whole_file

__all__ = ["export_onnx"]

OPSET, OPSET_ML, IR_VERSION = 18, 3, 8
"""Old enough for runtimes of the last years, new enough for what is used here."""

_LARGEST = 2 * 2**30 - 2**20  # what a protobuf message can hold, less the room for the graph
_DTYPES = ("double", "float")


def export_onnx(
    model: ModelLike, path: str | os.PathLike[str] | None = None, *, dtype: str = "double"
) -> Any:
    """A fitted model as ONNX, which any runtime can run without Python.

    A model of numbers only has one input, ``X`` of shape (rows, columns). A model with categories
    has an input of shape (rows, 1) for every column, named like it: numbers, and strings for
    categories. Missing numbers are NaN, a missing category is the text "(missing)". A date is its
    seconds since 1970-01-01 00:00, in float64. Columns that are not used are no inputs.

    Outputs are ``label`` and ``probabilities`` for classifiers, ``variable`` for regressors,
    ``label`` and ``scores`` for bandit policies, ``label`` for clusters, and always ``leaf``:
    (rows,), or (rows, trees) for forests. A name that a column has already gets an underscore
    behind it.

    Parameters
    ----------
    model : fitted estimator, policy or ObliqueTree
    path : path, optional
        Where to write the file.
    dtype : {"double", "float"}
        Type of the numbers that go in. They are computed with in float64 either way.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[10.0], [20.0]])
    >>> [output.name for output in export_onnx(tree).graph.output]
    ['variable', 'leaf']
    """
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")
    parts = model_of(model)
    _check_size(parts)
    graph = Graph(taken=[column.name for column in parts.columns])
    types = graph.onnx.TensorProto
    number = types.DOUBLE if dtype == "double" else types.FLOAT
    inputs, rows = _encoded(graph, parts, number)
    answers = _answers(graph, rows, parts)
    taken = {value.name for value in inputs}
    outputs = []
    for name, (value, kind, shape) in answers.items():
        while name in taken:
            name += "_"
        graph.nodes.append(graph.onnx.helper.make_node("Identity", [value], [name]))
        outputs.append(graph.onnx.helper.make_tensor_value_info(name, kind, shape))
    made = graph.onnx.helper.make_graph(graph.nodes, parts.kind, inputs, outputs, graph.constants)
    opsets = [("", OPSET), ("ai.onnx.ml", OPSET_ML)]
    whole = graph.onnx.helper.make_model(
        made,
        opset_imports=[graph.onnx.helper.make_opsetid(*opset) for opset in opsets],
        producer_name="dgtrees",
        ir_version=IR_VERSION,
    )
    if path is not None:
        with whole_file(path) as stream:
            stream.write(whole.SerializeToString())
    return whole


def _check_size(parts: Model) -> None:
    numbers = 0
    for tree in parts.forest.trees:
        numbers += 2 * tree.weights.size + tree.leaf_values.size
        numbers += tree.n_leaves * tree.n_outputs * tree.n_features if tree.linear else 0
    if 8 * numbers > _LARGEST:
        raise ValueError(
            f"an ONNX file can hold 2 GiB, this {parts.kind} needs {8 * numbers / 2**30:.1f}: "
            "prune it or train a smaller one, or use the model file, which has no limit"
        )


# Rows


def _encoded(graph: Graph, parts: Model, number: int) -> tuple[list[Any], str]:
    """Inputs of the graph, and the encoded rows as float64 (rows, encoded columns)."""
    make, types = graph.onnx.helper.make_tensor_value_info, graph.onnx.TensorProto
    columns = parts.columns
    if all(column.kind == NUMBER for column in columns):
        inputs = [make("X", number, ["rows", len(parts.names)])]
        rows = graph.cast("X", "DOUBLE")
        return inputs, _filled(graph, rows, list(columns)) if columns else rows
    inputs, blocks = [], []
    input_types = {NUMBER: number, CATEGORY: types.STRING, DATE: types.DOUBLE}
    for column in columns:
        if not column.width:
            continue
        inputs.append(make(column.name, input_types[column.kind], ["rows", 1]))
        if column.kind == NUMBER:
            values = graph.cast(column.name, "DOUBLE")
            blocks.append(_filled(graph, values, [column]))
        elif column.kind == DATE:
            blocks.append(add_dates(graph, column, column.name))
        else:
            blocks.append(_one_hot(graph, column))
    names = [value.name for value in inputs]
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(
            f"columns must have different names to be inputs of an ONNX graph, got {names}: rename "
            "them and fit again, or export C"
        )
    return inputs, graph.add("Concat", *blocks, axis=1)


def _filled(graph: Graph, rows: str, columns: list[Column]) -> str:
    """Numbers with medians for NaN, bent ones, and beside them what their columns have.

    That is distances from a centre, and marks of missing values.
    """
    missing = graph.add("IsNaN", rows)
    medians = graph.constant([[column.median for column in columns]], np.float64)
    filled = graph.add("Where", missing, medians, rows)
    if any(column.reach for column in columns):
        ends = np.array([column.reach or (-np.inf, np.inf) for column in columns]).T[:, None]
        low, high = (graph.constant(end) for end in ends)
        filled = graph.add("Min", graph.add("Max", filled, low), high)
    plain = filled
    if any(column.bent for column in columns):
        filled = _bent(graph, filled, columns)
    away = plain
    if any(column.from_center for column in columns):
        centers = graph.constant([[(*c.from_center, 0.0)[0] for c in columns]], np.float64)
        away = graph.add("Abs", graph.add("Sub", plain, centers))
    # Each part's columns, and where they go among those of the row: own numbers first, marks last.
    parts, order = [filled], [(j, 1) for j in range(len(columns))]
    for part, place, chosen in (
        (plain, 0, [column.beside for column in columns]),
        (away, 2, [bool(column.from_center) for column in columns]),
        (missing, 3, [column.indicator for column in columns]),
    ):
        some = np.flatnonzero(chosen).tolist()
        if some:
            parts.append(graph.columns(graph.cast(part, "DOUBLE"), some))
            order += [(j, place) for j in some]
    if len(parts) == 1:
        return filled
    ranked = sorted(range(len(order)), key=order.__getitem__)
    return graph.columns(graph.add("Concat", *parts, axis=1), ranked)


def _bent(graph: Graph, rows: str, columns: list[Column]) -> str:
    """Numbers (rows, columns) bent as `tables.bending` bends them, where their columns are."""
    center, spread = (np.array([column.bent or (0.0, 1.0) for column in columns]).T)[:, None]
    away = graph.add("Sub", rows, graph.constant(center))
    away = graph.add("Div", away, graph.constant(spread))
    root = graph.add("Min", graph.add("Abs", away), graph.constant(FARTHEST))
    root = graph.add("Add", root, graph.constant(1.0))
    for _ in range(ROOTS):
        root = graph.add("Sqrt", root)
    size = graph.add("Mul", graph.add("Sub", root, graph.constant(1.0)), graph.constant(POWER))
    below = graph.add("Less", away, graph.constant(0.0))
    bent = graph.add("Where", below, graph.add("Neg", size), size)
    return graph.add("Where", graph.constant([[bool(c.bent) for c in columns]]), bent, rows)


def _one_hot(graph: Graph, column: Column) -> str:
    """A category as columns of 0 and 1 and as means; what was never seen goes with the others."""
    known = len(column.labels)
    code = graph.add(
        "LabelEncoder",
        graph.squeezed(column.name, 1),
        domain="ai.onnx.ml",
        keys_strings=list(column.labels),
        values_int64s=list(range(known)),
        default_int64=known,
    )
    return graph.add("Gather", graph.constant(column.table), code, axis=0)


# Answers


def _answers(graph: Graph, rows: str, parts: Model) -> dict[str, tuple[str, int, list]]:
    """Outputs by name: the value, its type and its shape."""
    forest, types = parts.forest, graph.onnx.TensorProto
    leaves = leaves_of_rows(graph, rows, forest)
    leaf = graph.add("Sub", leaves, graph.constant(forest._first_leaf, np.int64))
    shape: list = ["rows", forest.n_outputs]
    outputs = _outputs(graph, rows, leaves, parts)
    found: dict[str, tuple[str, int, list]] = {}
    if parts.answer.numbered:
        number = graph.cast(graph.squeezed(outputs, 1), "INT64")
        found[parts.answer.onnx_output] = (number, types.INT64, ["rows"])
    elif parts.answer.labels is None:
        if parts.answer.logarithms:
            outputs = graph.add("Exp", outputs)
        found[parts.answer.onnx_output] = (outputs, types.DOUBLE, shape)
    else:
        best = graph.add("ArgMax", _emphasised(graph, outputs, parts), axis=1, keepdims=0)
        labels, kind = _labels(parts, types)
        label = graph.add("Gather", graph.constant(labels), best, axis=0)
        found["label"] = (label, kind, ["rows"])
        if parts.scores_to_shares:
            if parts.shares_by_leaf:
                table = graph.constant(parts.leaf_shares)
                outputs = graph.add("Gather", table, graph.squeezed(leaves, 1), axis=0)
            else:
                outputs = graph.add("Softmax", outputs, axis=1)
        elif parts.answer.exponent != 1.0:
            powers = graph.add(
                "Mul", graph.add("Log", outputs), graph.constant(parts.answer.exponent)
            )
            outputs = graph.add("Softmax", powers, axis=1)
        found[parts.answer.onnx_output] = (outputs, types.DOUBLE, shape)
    if parts.alone:
        found["leaf"] = (graph.squeezed(leaf, 1), types.INT64, ["rows"])
    else:
        found["leaf"] = (leaf, types.INT64, ["rows", len(forest)])
    return found


def _emphasised(graph: Graph, outputs: str, parts: Model) -> str:
    """Outputs with class weights in them, if there are any."""
    if parts.answer.weighing is None:
        return outputs
    by, numbers = parts.answer.weighing
    return graph.add({"*": "Mul", "+": "Add"}[by], outputs, graph.constant(numbers))


def _labels(parts: Model, types: Any) -> tuple[np.ndarray, int]:
    """Class labels as an array that ONNX has a type for."""
    classes = np.asarray(parts.answer.labels)
    kinds = {"b": (np.bool_, types.BOOL), "f": (np.float64, types.DOUBLE)}
    kinds |= dict.fromkeys("iu", (np.int64, types.INT64))
    if classes.dtype.kind in kinds:
        dtype, kind = kinds[classes.dtype.kind]
        if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
            dtype, kind = np.uint64, types.UINT64
        return classes.astype(dtype), kind
    if classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object), types.STRING
    raise ValueError(
        "classes must be all text or all numbers to be an ONNX output, got "
        f"{classes.tolist()[:4]}: fit with labels of one type, or export C"
    )


def _outputs(graph: Graph, rows: str, leaves: str, parts: Model) -> str:
    """What `ObliqueForest.predict` answers, added in the order of the trees: (rows, outputs)."""
    forest = parts.forest
    table = None if parts.linear else graph.constant(forest._answers)

    def answer(inner: Graph, leaf: str) -> str:
        if table is not None:
            return inner.add("Gather", table, leaf, axis=0)
        return _said(inner, linear(inner, leaf), parts)

    if parts.linear:
        linear = _linear_outputs(graph, rows, forest.trees)
    if len(forest) == 1 and forest.combine != "sum":
        return answer(graph, graph.squeezed(leaves, 1))
    count = graph.add("Shape", rows, start=0, end=1)
    width = graph.constant([forest.n_outputs], np.int64)
    zero = graph.onnx.numpy_helper.from_array(np.zeros(1))
    start = graph.add("ConstantOfShape", graph.add("Concat", count, width, axis=0), value=zero)
    by_tree = graph.add("Transpose", leaves, perm=[1, 0])
    total = graph.scan(
        [start],
        [by_tree],
        lambda inner, sums, leaf: [inner.add("Add", sums, answer(inner, leaf))],
        (graph.onnx.TensorProto.DOUBLE, forest.n_outputs),
    )
    if forest.combine == "sum":
        return _bounded(graph, _with_base(graph, rows, total, forest.base), forest.bounds)
    return graph.add("Div", total, graph.constant(float(len(forest))))


def _with_base(graph: Graph, rows: str, total: str, base: ObliqueTree | None) -> str:
    """A sum over trees, and what is added to it."""
    if base is None:
        return total
    if not base.linear:
        return graph.add("Add", total, graph.constant(base.leaf_values))
    count = graph.add("Shape", rows, start=0, end=1)
    zero = graph.onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64))
    leaf = graph.add("ConstantOfShape", count, value=zero)
    return graph.add("Add", total, _linear_outputs(graph, rows, (base,))(graph, leaf))


def _bounded(graph: Graph, outputs: str, bounds: Any) -> str:
    """Outputs between bounds, if there are any."""
    if bounds is None:
        return outputs
    low, high = (graph.constant(bound) for bound in bounds)
    return graph.add("Min", graph.add("Max", outputs, low), high)


def _linear_outputs(graph: Graph, rows: str, trees: Sequence[ObliqueTree]) -> Any:
    """A function that adds the outputs of linear leaves to a graph, one output after the other.

    Slopes of the rows' leaves are looked up for one output at a time: (rows, columns) numbers.
    """
    leaves = linear_leaves([(tree.leaf_values, tree.leaf_weights) for tree in trees])
    values, slopes, d = graph.constant(leaves.values), leaves.slopes, trees[0].n_features
    mixed = bool((leaves.slope_of < 0).any())
    if mixed:  # constant leaves have the slopes of place 0, which are 0
        slopes = np.concatenate([np.zeros((1, *slopes.shape[1:])), slopes])
        places = graph.constant(leaves.slope_of + 1, np.int64)
    by_output = graph.constant(slopes.transpose(1, 0, 2))

    def linear(inner: Graph, leaf: str) -> str:
        at = inner.add("Gather", places, leaf, axis=0) if mixed else leaf

        def one_output(innermost: Graph, slope: str) -> list[str]:
            product = innermost.add("Mul", innermost.add("Gather", slope, at, axis=0), rows)
            return [fixed_order_dot(innermost, product, d)]

        double = graph.onnx.TensorProto.DOUBLE
        products = inner.scan([], [by_output], one_output, (double, None))
        products = inner.add("Transpose", products, perm=[1, 0])
        return inner.add("Add", inner.add("Gather", values, leaf, axis=0), products)

    return linear


def _said(graph: Graph, outputs: str, parts: Model) -> str:
    """Outputs of one tree as they enter the mean, as `ObliqueForest._said` has them."""
    forest = parts.forest
    if forest.combine == "vote":
        best = graph.add("ArgMax", outputs, axis=1, keepdims=0)
        return graph.add("Gather", graph.constant(np.eye(forest.n_outputs)), best, axis=0)
    if forest.combine == "softmax":
        return graph.add("Softmax", outputs, axis=1)
    # Bounds of a sum are those of the whole.
    return outputs if forest.combine == "sum" else _bounded(graph, outputs, forest.bounds)
