"""Options that several commands share, and what they mean to `read_table`."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from dgtrees.errors import ColumnWarning, Problems

__all__ = [
    "Backend",
    "Category",
    "Decimal",
    "Delimiter",
    "Drop",
    "DropUnusable",
    "Encoding",
    "Format",
    "Header",
    "Jobs",
    "Json",
    "Leaf",
    "MaxDepth",
    "Number",
    "Quiet",
    "RecipeName",
    "Seed",
    "Strict",
    "Target",
    "Task",
    "Weight",
    "check_backend",
    "column_options",
    "cores_of",
    "on_terminal",
    "reading_options",
]

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column to learn: a name, or a position from 0 (-1: the last). "
        "svmlight files have their own.",
    ),
]
Task = Annotated[
    str,
    typer.Option(
        help="classification, regression, or auto: strings are classes, and so are at most 26 "
        "different whole numbers."
    ),
]
MaxDepth = Annotated[
    int | None,
    typer.Option(
        "--max-depth",
        "-d",
        help="Height of a complete tree; if unset, what suits the table is found on held-out rows.",
    ),
]
Leaf = Annotated[
    str,
    typer.Option(
        help="What a leaf holds: constant, linear in the features, or auto for what suits."
    ),
]
RecipeName = Annotated[
    str, typer.Option(help="How it learns: default, or paper for the paper's way.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="How many to train at the same time, -1 for as many as there are cores; if unset 1, "
        "and on a cluster as many as it can."
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="Who trains them: loky (processes of this machine), ray (the cluster of RAY_ADDRESS, "
        "or a local one) or dask (the scheduler of DASK_SCHEDULER_ADDRESS, or a local one)."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(help="Column of row weights: a weight of 2 is like the row given twice."),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out, or several: a,b; may be repeated.")
]
DropUnusable = Annotated[
    bool,
    typer.Option(
        "--drop-unusable",
        help="Leave out numbers that seem to count or name rows, too, as identifiers and free text "
        "always are; a warning names them.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a table with identifiers, free text or other columns that nothing can be "
        "learnt from, instead of leaving them out with a warning.",
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="Column whose values are names even if they are digits, or several: a,b; may be "
        "repeated."
    ),
]
Number = Annotated[
    list[str] | None,
    typer.Option(help="Column that must hold numbers, or several: a,b; may be repeated."),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, parquet, arrow, svmlight, arff or npz; found out from the content if not given."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates columns of a text file; found out if not given.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file.")]
Decimal = Annotated[str, typer.Option(help="Decimal sign of a text file, '.' or ','.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


def _hush(quiet: bool) -> bool:
    """Say nothing about compiling either, nor about columns."""
    if quiet:
        warnings.simplefilter("ignore", ColumnWarning)
        logging.getLogger("dgtrees").setLevel(logging.ERROR)
    return quiet


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="Print nothing but errors.")
]
Seed = Annotated[
    int, typer.Option(help="Seed of everything random: the same seed gives the same tree.")
]


def reading_options(
    format: str | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str,
    decimal: str,
) -> dict[str, Any]:
    """Options about the file."""
    names = {"tab": "\t", "\\t": "\t", "space": " "}
    return {
        "format": format,
        "delimiter": names.get(delimiter, delimiter) if delimiter else None,
        "header": header,
        "encoding": encoding,
        "decimal": decimal,
    }


def column_options(
    drop: list[str] | None,
    category: list[str] | None,
    number: list[str] | None,
    drop_unusable: bool,
    strict: bool,
    problems: Problems,
) -> dict[str, Any]:
    """Options about columns."""
    for name in sorted(set(category or ()) & set(number or ())):
        problems.require(False, f"column {name!r} must be --category or --number, got both")
    kinds = dict.fromkeys(category or [], "category") | dict.fromkeys(number or [], "number")
    problems.require(
        not (drop_unusable and strict),
        "--drop-unusable and --strict exclude each other: choose one",
    )
    on_unusable = "drop" if drop_unusable else "raise" if strict else "warn"
    return {"drop": tuple(drop or ()), "kinds": kinds, "on_unusable": on_unusable}


def on_terminal() -> bool:
    """Whether somebody watches standard error."""
    return sys.stderr.isatty()


def check_backend(backend: str, problems: Problems) -> None:
    """Refuse a backend that does not exist."""
    problems.require(
        backend in ("loky", "ray", "dask"),
        f"--backend must be one of loky, ray, dask, got {backend!r}",
    )


@contextmanager
def cores_of(backend: str) -> Iterator[None]:
    """Let joblib use the named backend inside the block."""
    from joblib import parallel_config
    from joblib.externals.loky import get_reusable_executor

    if backend == "dask":
        try:
            from distributed import Client
        except ImportError as error:
            message = "--backend dask needs distributed: pip install 'dgtrees[dask]'"
            raise ImportError(message) from error
        with Client(os.environ.get("DASK_SCHEDULER_ADDRESS")), parallel_config("dask"):
            yield
        return
    if backend == "ray":
        try:
            from ray.util.joblib import register_ray
        except ImportError as error:
            raise ImportError("--backend ray needs ray: pip install 'dgtrees[ray]'") from error
        register_ray()
    with parallel_config(backend):
        try:
            yield
        finally:
            if backend == "loky":  # its idle workers would outlive us by minutes
                get_reusable_executor().shutdown(kill_workers=True)
