"""`dgt data`: the paper's data sets."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dgtrees.cli import options as o
from dgtrees.cli.parsing import Command
from dgtrees.cli.terminal import json_text, say
from dgtrees.errors import Problems

__all__ = ["app"]

app = typer.Typer(
    help="The paper's data sets: which are there, and how to get them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    str | None,
    typer.Option(help="Folder of the data sets; DGTREES_DATA or the cache directory if not given."),
]


@app.command("list", cls=Command)
def list_data(folder: Folder = None, json: o.Json = False, quiet: o.Quiet = False) -> None:
    """List all data sets: size, task, and whether they are there."""
    from dgtrees.paper import catalog

    found: list[dict[str, Any]] = []
    for name, known in catalog.CATALOG.items():
        status = catalog.status(name, folder)
        found.append(
            {
                "name": name,
                "present": status.present,
                "bytes": status.bytes,
                "missing": list(status.missing),
                "rows": list(known.rows),
                "features": known.n_features,
                "classes": known.n_classes,
                "task": known.task,
                "metric": known.metric,
                "height": known.paper_height,
                "folder": str(status.folder),
            }
        )
    if json:
        where = catalog.data_folder() if folder is None else folder
        say(json_text({"folder": str(where), "data_sets": found}))
        return
    if quiet:
        return
    say(f"{'name':<11} {'on disk':>9} {'train':>9} {'val':>8} {'test':>8} {'columns':>7}  target")
    for item in found:
        size = _size(item["bytes"]) if item["present"] else "absent"
        train, val, test = (f"{n:,}" if n else "?" for n in item["rows"])
        target = f"{item['classes']} classes" if item["classes"] else "value"
        say(
            f"{item['name']:<11} {size:>9} {train:>9} {val:>8} {test:>8} "
            f"{item['features']:>7}  {target}"
        )
    present = sum(item["present"] for item in found)
    where = catalog.data_folder() if folder is None else folder
    say(f"\n{present} present, {len(found) - present} absent in {where}")
    if present < len(found):
        say("dgt data fetch NAME downloads one")


@app.command("fetch", cls=Command)
def fetch_data(
    names: Annotated[list[str], typer.Argument(help="Names that dgt data list shows.")],
    folder: Folder = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Download data sets from their publishers and verify them; those present are verified."""
    from dgtrees.cli.progress import download_bar
    from dgtrees.paper import catalog

    problems, places = Problems(), {}
    for name in names:
        with problems.collect():
            catalog.check_name(name)
    problems.settle()
    for name in names:
        with download_bar(name, o.on_terminal() and not (quiet or json)) as progress:
            places[name] = str(catalog.fetch(name, folder, progress))
        if not quiet and not json:
            say(f"{name}: {places[name]}")
    if json:
        say(json_text(places))


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
