"""`dgt tune`: look for a better setting, judged on validation rows only."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.labelled import read_labelled, read_validation
from dgtrees.cli.output import report, said
from dgtrees.errors import Problems

__all__ = ["tune"]


def tune(
    train: Annotated[str, typer.Argument(help="Table to learn from; - reads standard input.")],
    target: o.Target = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Model file: always the best tree so far.")
    ] = "model.dgt",
    trials: Annotated[int, typer.Option(help="Settings to try in this run.")] = 50,
    study: Annotated[
        str | None,
        typer.Option(help="File of all trials, to go on from; the output's name + .study if unset"),
    ] = None,
    space: Annotated[
        str,
        typer.Option(help="Where to look: default (around the default recipe), paper, or both."),
    ] = "both",
    task: o.Task = "auto",
    val: Annotated[str | None, typer.Option(help="Table to judge by.")] = None,
    validation_fraction: Annotated[
        float, typer.Option(help="Share of the rows to judge by, without --val.")
    ] = 0.2,
    max_depth: Annotated[
        int | None,
        typer.Option("--max-depth", "-d", help="Height of the tree; 2, 4, 6, 8, 10 are tried."),
    ] = None,
    max_epochs: Annotated[
        int | None, typer.Option(help="Passes over the rows in a trial; the recipe's if unset.")
    ] = None,
    jobs: o.Jobs = None,
    backend: o.Backend = "loky",
    weight: o.Weight = None,
    drop: o.Drop = None,
    drop_unusable: o.DropUnusable = False,
    strict: o.Strict = False,
    category: o.Category = None,
    number: o.Number = None,
    seed: o.Seed = 0,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Try settings and keep the tree that does best on validation rows.

    Stop it whenever you like: the best tree so far is in the output, and the same command goes on
    where it stopped. Needs optuna (pip install 'dgtrees[tune]').
    """
    problems = Problems()  # which are told before there is a study file
    check_files(problems, reads=(train, val), writes=(output,))
    problems.require(
        output != "-", "dgt tune writes its model again and again: give --output a file"
    )
    problems.require(
        jobs != 0, "--jobs must not be 0: give a number, or -1 for as many as there are cores"
    )
    problems.require(trials >= 1, f"--trials must be at least 1, got {trials}")
    o.check_backend(backend, problems)
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    columns = o.column_options(drop, category, number, drop_unusable, strict, problems)
    problems.settle()
    table = read_labelled(train, target, task=task, weight=weight, **columns, **reading)
    held = None if val is None else read_validation(val, table, weight, reading)
    from dgtrees.cli.progress import batches_bar
    from dgtrees.estimators.search import Search

    show = o.on_terminal() and not (quiet or json)
    with o.cores_of(backend):
        search = Search(
            table.task,
            output,
            study=study or f"{output}.study",
            space=space,
            max_depth=max_depth,
            max_epochs=max_epochs,
            seed=seed,
        )
        before = search.n_trials
        with batches_bar(trials, show, "trials") as advance:
            best = search.run(
                table.X,
                table.y,
                table.weight,
                validation=None if held is None else (held.X, held.y, held.weight),
                validation_fraction=validation_fraction,
                trials=trials,
                n_jobs=jobs,
                callback=lambda: advance(1),
            )
    result: dict[str, Any] = {
        "model": output,
        "study": search.study_path,
        "trials": search.n_trials,
        f"validation_{search.metric}": best.score,
        "parameters": best.parameters,
    }
    settings = ", ".join(f"{name}={_shown(value)}" for name, value in best.parameters.items())
    text = (
        f"{search.n_trials} trials ({before} before), best validation {search.metric} "
        f"{said(best.score)} in trial {best.number}: {output}\n{settings}"
    )
    report(result, text, as_json=json, quiet=quiet, clear=True)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
