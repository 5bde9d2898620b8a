"""`dgt export`: a model file in, a file for other programs out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_model, report, writing
from dgtrees.cli.terminal import plain
from dgtrees.errors import Problems

if TYPE_CHECKING:
    from dgtrees.model.model import Model

__all__ = ["export"]

_BY_SUFFIX = {".onnx": "onnx", ".c": "c", ".txt": "text", ".dot": "dot", ".gv": "dot"}
_FORMATS = ("onnx", "c", "text", "dot")


def export(
    model: Annotated[
        str, typer.Argument(help="Model file that dgt fit wrote; - reads standard input.")
    ],
    to: Annotated[
        str | None,
        typer.Option(help="onnx, c, text or dot; by the ending of the output if not given."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="File to write; - for standard output. C writes a .h beside it."
        ),
    ] = "-",
    depth: Annotated[
        int | None, typer.Option(help="Levels of decisions to show in text and dot; all if unset.")
    ] = None,
    weights: Annotated[
        int, typer.Option(help="Weights to show of every decision in text and dot.")
    ] = 4,
    name: Annotated[
        str | None,
        typer.Option(help="What names in C begin with; made from the file's name if not given."),
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="Type of numbers that go into ONNX: double or float.")
    ] = "double",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a model as ONNX, as C source, as text rules or as a Graphviz graph.

    ONNX and C take rows as they are in the table: the encoding of categories and missing values is
    part of what is written. Leaves agree with dgt predict --leaves for every row.
    """
    from dgtrees.model.model import model_of

    to = _BY_SUFFIX.get(Path(output).suffix, "") if to is None else to
    problems = Problems()
    problems.require(
        to in _FORMATS,
        f"--to must be one of {', '.join(_FORMATS)}, got {to!r}: say which, or end --output in "
        f"{', '.join(_BY_SUFFIX)}",
    )
    problems.require(weights >= 1, f"--weights must be at least 1, got {weights}")
    problems.require(depth is None or depth >= 0, f"--depth must be at least 0, got {depth}")
    header = None
    with problems.collect():
        header = _header_path(output) if to == "c" else None
    check_files(problems, reads=(model,), writes=(output, header))
    problems.settle()
    fitted = model_of(load_model(model))
    files = [output]
    if header is not None:
        from dgtrees.model.c import c_name, c_texts

        stem = Path(output).stem
        files.append(header)
        for path, text in zip(files, c_texts(fitted, name or c_name(stem), stem), strict=True):
            _write(path, text)
    elif to == "onnx":
        from dgtrees.model.onnx import export_onnx

        _write(output, export_onnx(fitted, dtype=dtype).SerializeToString())
    else:
        _write(output, _as_text(fitted, to, depth, weights))
    result = {"format": to, "files": files, "kind": fitted.kind}
    text = f"{fitted.kind} as {to}: {', '.join(files)}"
    report(result, text, as_json=json, quiet=quiet or output == "-", clear=output != "-")


def _header_path(output: str) -> str:
    if Path(output).suffix != ".c":
        raise ValueError(f"C is two files, .c and .h: --output must end in .c, got {output!r}")
    return str(Path(output).with_suffix(".h"))


def _as_text(fitted: Model, to: str, depth: int | None, weights: int) -> str:
    if to == "dot":
        from dgtrees.model.graphviz import export_dot

        return export_dot(fitted, max_depth=depth, max_weights=weights)
    from dgtrees.model.rules import export_text

    levels = 10**6 if depth is None else depth
    rules = export_text(fitted, max_depth=levels, max_weights=weights, show_weights=True)
    return plain(rules) + "\n"


def _write(path: str, content: str | bytes) -> None:
    with writing(path, binary=isinstance(content, bytes)) as stream:
        stream.write(content)
