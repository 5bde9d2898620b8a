"""The `dgt` application: its commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer.main import get_command

from dgtrees import __version__
from dgtrees.cli import (
    data,
    evaluate,
    explain,
    export,
    fit,
    paper,
    predict,
    show,
    simulate,
    tune,
    warmup,
)
from dgtrees.cli.parsing import Command, is_usage_error
from dgtrees.cli.terminal import say
from dgtrees.errors import ColumnWarning, DGTreesError

__all__ = ["app", "main"]

app = typer.Typer(
    name="dgt",
    help="Hard oblique decision trees from your tables: train, predict, look inside.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"dgtrees {__version__}")
        raise typer.Exit


@app.callback()
def _dgt(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Hard oblique decision trees from your tables: train, predict, look inside."""


app.command("fit", cls=Command)(fit.fit)
app.command("predict", cls=Command)(predict.predict)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("show", cls=Command)(show.show)
app.command("explain", cls=Command)(explain.explain)
app.command("export", cls=Command)(export.export)
app.command("tune", cls=Command)(tune.tune)
app.command("simulate", cls=Command)(simulate.simulate)
app.command("warmup", cls=Command)(warmup.warmup)
app.add_typer(data.app, name="data")
app.add_typer(paper.app, name="paper")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `dgt` and leave with its exit code: 0, 2 for bad input, 130 when interrupted."""
    code = run(arguments)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a closed pipe
            stream.flush()
    # Everything is written. Unloading Arrow's threads now and then aborts a process, whose exit
    # code would then be 134; workers of a pool end by themselves when we are gone.
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run `dgt` and return its exit code."""
    try:
        command = get_command(app)
        if "_DGT_COMPLETE" in os.environ:  # the shell asks how a line may go on
            command.main(arguments, prog_name="dgt")
        # Not command.main: it would turn a closed pipe or Ctrl-C into exit codes of its own.
        words = sys.argv[1:] if arguments is None else list(arguments)
        with _columns_told(), command.make_context("dgt", words) as context:
            command.invoke(context)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        return _failed(["interrupted"], 130)
    except BrokenPipeError:
        # Whoever read our output has stopped: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("DGTREES_DEBUG"):
            raise
        return _translated(error)


@contextmanager
def _columns_told() -> Iterator[None]:
    """Warnings about columns on a line of standard error each, without Python's own words."""
    with warnings.catch_warnings():
        as_python_does = warnings.showwarning
        warnings.simplefilter("always", ColumnWarning)

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ColumnWarning):
                say(f"dgt: {message}", sys.stderr)
            else:
                as_python_does(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _translated(error: Any) -> int:
    """A line a problem on standard error, and the exit code: errors of ours, click's, the system's.

    Errors that nobody foresaw keep their traceback: they are bugs, and it is what a report needs.
    """
    kind = type(error).__name__
    if kind == "Exit":  # --help and --version
        return int(error.exit_code)
    notes = getattr(error, "__notes__", [])
    if is_usage_error(error):  # unknown options, missing arguments
        if kind == "NoArgsIsHelpError":
            say(error.format_message(), sys.stderr)
            return 2
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "dgt"
        lines = [error.format_message(), *notes]
        step = f"See '{path} --help'."
        return _failed([*lines, step] if notes else [f"{lines[0]} {step}"], error.exit_code)
    if isinstance(error, (DGTreesError, ValueError, TypeError, ImportError, MemoryError)):
        return _failed([str(error) or kind, *notes], 2)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _failed([f"{where}{error.strerror or error}"], 2)
    raise error


def _failed(problems: Sequence[str], code: int) -> int:
    for problem in problems:
        say(f"dgt: {' '.join(problem.split())}", sys.stderr)
    return code
