"""`dgt paper`: run the paper's experiments again and report on them.

The experiments are part of the package. What has been recorded is part of the repository: of a
checkout its records and pages are taken, elsewhere the user names a folder.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dgtrees
from dgtrees.cli import options as o
from dgtrees.cli.output import report as say
from dgtrees.cli.parsing import Command
from dgtrees.cli.terminal import say as print_line
from dgtrees.errors import StateError

if TYPE_CHECKING:
    from dgtrees.paper.experiment import Experiment

__all__ = ["app"]

app = typer.Typer(
    help="The paper's tables and figures: run them again, resume, report.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Results = Annotated[
    str | None,
    typer.Option(help="Folder of the records; a checkout's benchmarks/paper/results by default."),
]


def _checkout(folder: str, option: str) -> Path:
    """A folder of the repository, where the package or the user is in a checkout of it."""
    for root in (Path(dgtrees.__file__).parents[2], Path.cwd()):
        if (root / "benchmarks" / "paper" / "results").is_dir():
            return root / folder
    raise StateError(
        f"outside of a checkout of the repository {option} must name a folder, got no {option}: "
        f"name one, for example {option} paper"
    )


def _records(results: str | None) -> Path:
    return _checkout("benchmarks/paper/results", "--results") if results is None else Path(results)


def _read_experiments(smoke: bool) -> list[Experiment]:
    from dgtrees.paper.experiment import make_smoke, read_experiments

    known = list(read_experiments().values())
    if not smoke:
        return known
    from dgtrees.paper.work import QUICK

    return [make_smoke(experiment, QUICK) for experiment in known]


def _line(text: str) -> None:
    print_line(text)
    sys.stdout.flush()  # a run is watched for hours, through pipes too


def _no_line(text: str) -> None:
    pass


@app.command("list", cls=Command)
def list_experiments(results: Results = None, json: o.Json = False, quiet: o.Quiet = False) -> None:
    """List the experiments: table or figure, data sets, and how many runs are done."""
    from dgtrees.paper.report import count

    folder = _records(results)
    found: list[dict[str, Any]] = [
        {"name": e.name, "title": e.heading, **count(e, folder)}
        for e in _read_experiments(smoke=False)
    ]
    lines = [f"{'name':<23} {'done':>5} {'of':>5} {'absent':>7}  what"]
    for item in found:
        numbers = f"{item['done']:>5} {item['cells']:>5} {item['absent']:>7}"
        reads = "" if item["cells"] + item["absent"] else ", read off the runs of others"
        lines.append(f"{item['name']:<23} {numbers}  {item['title']}{reads}")
    done, cells = (sum(item[key] for item in found) for key in ("done", "cells"))
    then = "dgt paper run goes on with the cheapest" if done < cells else "see dgt paper report"
    lines.append(f"\n{done:,} of {cells:,} runs done; {then}")
    say({"experiments": found}, "\n".join(lines), as_json=json, quiet=quiet, clear=True)


@app.command("run", cls=Command)
def run_experiments(
    table: Annotated[list[int] | None, typer.Option(help="Table to run; may be repeated.")] = None,
    figure: Annotated[list[int] | None, typer.Option(help="Figure; may be repeated.")] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="Name that dgt paper list shows; may be repeated.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method of the files; may be repeated.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Seeds 0 to this, exclusive; as declared if not given.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at the same time, one core each.")] = 2,
    budget: Annotated[
        float | None, typer.Option(help="Minutes after which no further run is started.")
    ] = None,
    smoke: Annotated[
        bool,
        typer.Option("--smoke", help="Does everything run? Bundled data, hardly any training."),
    ] = False,
    results: Results = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Run what is missing, cheapest first; stop it whenever you like, it goes on where it was.

    Without options everything is run. A run that is done, and was declared as it is now, is
    skipped.
    """
    if jobs < 1 or (seeds is not None and seeds < 1) or (budget is not None and budget < 0):
        raise ValueError(
            f"jobs and seeds must be at least 1 and budget at least 0, got {jobs}, {seeds} and "
            f"{budget}: change them"
        )
    if smoke and results is None:
        raise ValueError(
            "--smoke must have a folder of its own, got no --results: name one, for example "
            "--results smoke"
        )
    from dgtrees.paper import run_progress
    from dgtrees.paper.cells import OUTCOMES, select_cells

    cells = select_cells(
        _read_experiments(smoke),
        tables=table or (),
        figures=figure or (),
        names=experiment or (),
        datasets=dataset or (),
        methods=method or (),
        seeds=seeds,
    )
    if not cells:
        raise ValueError("the options name no run: see dgt paper list for what there is")
    show = o.on_terminal() and not (quiet or json)
    outcome = run_progress.run(
        cells,
        _records(results),
        jobs=jobs,
        budget=None if budget is None else 60.0 * budget,
        bar=show,
        say=_no_line if quiet or json else _line,
    )
    numbers = {key: len(getattr(outcome, key)) for key in OUTCOMES}
    text = "{done} run, {before} already there, {failed} failed, {left} left, {absent} without data"
    say(numbers, text.format(**numbers), as_json=json, quiet=quiet, clear=True)
    if outcome.failed:
        raise StateError(
            f"{len(outcome.failed)} run(s) failed, the first of them {outcome.failed[0].title}: "
            "their errors are above"
        )


@app.command("report", cls=Command)
def write_report(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Folder of the pages; a checkout's docs by default."),
    ] = None,
    results: Results = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write paper.md, its figures and settings from what has been recorded."""
    from dgtrees.paper import report

    docs = _checkout("docs", "--output") if output is None else Path(output)
    pictures = find_spec("matplotlib") is not None
    written = [str(path) for path in report.write(_records(results), docs, pictures)]
    lines = written if pictures else [*written, "no figures: pip install 'dgtrees[plot]' adds them"]
    say({"written": written}, "\n".join(lines), as_json=json, quiet=quiet, clear=True)
