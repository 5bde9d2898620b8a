"""A small builder of ONNX graphs, and the library's own dot product in it.

ONNX says what a matrix product is but not in which order it adds. `fixed_order_dot` is therefore
written as the additions themselves: eight running sums, folded by halves, then the tail, as in
`tree.dot`. Needs the package onnx (the extra `dgtrees[onnx]`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from dgtrees.tree.dot import LANES

__all__ = ["Graph", "fixed_order_dot", "import_onnx"]

Body = Callable[..., Sequence[str]]


def import_onnx() -> Any:
    """The package onnx, or one line on how to get it."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "ONNX files need the package onnx: pip install 'dgtrees[onnx]'"
        ) from error
    return onnx


class Graph:
    """Nodes of a graph in the making. Inner graphs see the names of those around them.

    Parameters
    ----------
    around : Graph, optional
        The graph that this one is inside of.
    taken : collection of str
        Names that are given from outside.
    """

    def __init__(self, around: Graph | None = None, taken: Collection[str] = ()) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.root: Graph = self if around is None else around.root
        if around is None:
            self.constants: list[Any] = []
            self.count = 0
            self.prefix = "dgt_"
            while any(name.startswith(self.prefix) for name in taken):
                self.prefix += "_"

    def name(self) -> str:
        """A name that nothing else has."""
        self.root.count += 1
        return f"{self.root.prefix}{self.root.count}"

    def constant(self, values: Any, dtype: Any = None) -> str:
        """An array that is part of the model."""
        array = np.ascontiguousarray(np.asarray(values, dtype=dtype))
        name = self.name()
        if array.dtype.kind in "UO":
            text = [str(value).encode() for value in array.ravel().tolist()]
            string = self.onnx.TensorProto.STRING
            tensor = self.onnx.helper.make_tensor(name, string, array.shape, text)
        else:
            tensor = self.onnx.numpy_helper.from_array(array, name)
        self.root.constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, whose name is returned."""
        return self.add_many(operator, inputs, 1, **attributes)[0]

    def add_many(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: int,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """A node with several outputs."""
        names = [self.name() for _ in range(outputs)]
        node = self.onnx.helper.make_node(
            operator, list(inputs), names, domain=domain, **attributes
        )
        self.nodes.append(node)
        return names

    def cast(self, value: str, kind: str) -> str:
        """A value as another type, such as "DOUBLE"."""
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def columns(self, rows: str, numbers: Sequence[int]) -> str:
        """Some columns of a matrix."""
        return self.add("Gather", rows, self.constant(numbers, np.int64), axis=1)

    def squeezed(self, matrix: str, axis: int) -> str:
        """A tensor without an axis of length 1."""
        return self.add("Squeeze", matrix, self.constant([axis], np.int64))

    def scan(
        self, start: Sequence[str], parts: Sequence[str], body: Body, result: tuple[int, int | None]
    ) -> str:
        """Walk along the first axis of `parts`; steps follow each other in order.

        `body` gets the state, if there is one to `start` with, and one slice of every part. It
        returns the new state, or what is to be stacked. Runtimes want to know the `result`'s type
        beforehand, and its columns (None for a vector).
        """
        kind, columns = result
        inner = self._inner(len(start) + len(parts), body)
        shape = [None] if columns is None else [None, columns]
        inner.output[0].CopyFrom(
            self.onnx.helper.make_tensor_value_info(inner.output[0].name, kind, shape)
        )
        return self.add("Scan", *start, *parts, body=inner, num_scan_inputs=len(parts))

    def choose(self, condition: str, when: Body, otherwise: Body) -> str:
        """One of two results; only the chosen one is computed."""
        branches = {"then_branch": self._inner(0, when), "else_branch": self._inner(0, otherwise)}
        return self.add_many("If", [condition], 1, **branches)[0]

    def _inner(self, inputs: int, body: Body) -> Any:
        graph = Graph(self)
        names = [self.name() for _ in range(inputs)]
        outputs = body(graph, *names)
        return self.onnx.helper.make_graph(
            graph.nodes,
            self.name(),
            [self.typeless(name) for name in names],
            [self.typeless(name) for name in outputs],
        )

    def typeless(self, name: str) -> Any:
        """The declaration of a value whose type follows from where it comes from."""
        return self.onnx.helper.make_empty_tensor_value_info(name)


def fixed_order_dot(graph: Graph, products: str, d: int) -> str:
    """Sums of the rows of `products` (rows, d), added as `tree.dot.dot` adds; (rows,)."""
    rows = graph.add("Shape", products, start=0, end=1)
    whole = d - d % LANES

    def zeros(width: int) -> str:
        shape = graph.add("Concat", rows, graph.constant([width], np.int64), axis=0)
        zero = graph.onnx.numpy_helper.from_array(np.zeros(1))
        return graph.add("ConstantOfShape", shape, value=zero)

    if whole:
        blocks = graph.columns(products, range(whole)) if whole < d else products
        shape = graph.constant([0, whole // LANES, LANES], np.int64)
        blocks = graph.add("Transpose", graph.add("Reshape", blocks, shape), perm=[1, 0, 2])
        sums = graph.scan(
            [zeros(LANES)],
            [blocks],
            lambda inner, total, block: [inner.add("Add", total, block)],
            (graph.onnx.TensorProto.DOUBLE, LANES),
        )
        for _ in range(LANES.bit_length() - 1):
            sums = graph.add("Add", *graph.add_many("Split", [sums], 2, axis=1, num_outputs=2))
    else:
        sums = zeros(1)
    for j in range(whole, d):
        sums = graph.add("Add", sums, graph.columns(products, [j]))
    return graph.squeezed(sums, 1)
