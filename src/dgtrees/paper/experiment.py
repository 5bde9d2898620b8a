"""The declarative files: what is compared with what. `cells` turns them into runs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from dgtrees.paper.splits import facts

FILES = Path(__file__).parent / "experiments"

_REFERENCE_ROWS = 5000
"""Training rows that a method's `seconds` are for."""


@dataclass(frozen=True)
class Method:
    """One column of a table: what is trained, and the settings it is chosen from."""

    name: str
    title: str
    kind: str = ""
    paper: str = ""
    about: str = ""
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: tuple[dict[str, Any], ...] = ({},)
    selection: dict[str, Any] = field(default_factory=dict)
    choose: str = "every seed"
    seconds: float = 1.0
    seeds: int = 0
    """Runs where they are not as many as the experiment's: the cheap ones have more."""
    datasets: tuple[str, ...] = ()
    reuse: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    at: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    title: str
    section: str
    datasets: tuple[str, ...]
    seeds: int
    methods: dict[str, Method]
    table: int = 0
    figure: int = 0
    about: str = ""
    view: str = "scores"
    one_height: bool = True
    ours: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    heights: tuple[int, ...] = ()
    published: dict[str, dict[str, Any]] = field(default_factory=dict)
    smoke: str = "diabetes"

    @property
    def label(self) -> str:
        """The paper's number of it, if it has one."""
        parts = [f"Table {self.table}"] * bool(self.table) + [f"Figure {self.figure}"] * bool(
            self.figure
        )
        return " and ".join(parts)

    @property
    def heading(self) -> str:
        """What it is called where nothing else is around."""
        if not self.label:
            return f"{self.title} ({self.section})"
        return f"{self.label}: {self.title.lower()}"


def read_experiments(files: Path = FILES) -> dict[str, Experiment]:
    """All experiments by name, in the order of the paper."""
    found = [read_experiment(path) for path in sorted(files.glob("*.toml"))]
    order = lambda e: (not e.table, e.table, e.figure or 99, e.name)  # noqa: E731
    return {experiment.name: experiment for experiment in sorted(found, key=order)}


def read_experiment(path: Path) -> Experiment:
    """One declarative file."""
    given = tomllib.loads(path.read_text())
    common, at = given.pop("common", {}), given.pop("at", {})
    methods = {
        name: _read_method(name, table, common, at) for name, table in given.pop("methods").items()
    }
    for key in ("datasets", "ours", "extra", "heights"):
        given[key] = tuple(given.get(key, ()))
    return Experiment(name=path.stem, methods=methods, **given)


def _read_method(name: str, table: dict, common: dict, at: dict) -> Method:
    table = dict(table)
    own = table.pop("at", {})
    table["fixed"] = common | table.get("fixed", {})
    places = {
        dataset: {**own.get(dataset, {}), "fixed": at.get(dataset, {}) | _fixed(own, dataset)}
        for dataset in {*own, *at}
    }
    for key in ("datasets", "reuse", "against"):
        table[key] = tuple(table.get(key, ()))
    return Method(name, at=places, **_expand_grid(table))


def _fixed(own: dict, dataset: str) -> dict[str, Any]:
    fixed: dict[str, Any] = own.get(dataset, {}).get("fixed", {})
    return fixed


def _expand_grid(table: dict) -> dict[str, Any]:
    """A grid is a list of tables whose entries are lists: all their combinations are tried."""
    if "grid" not in table:
        return table
    tried = tuple(
        dict(zip(choices, values, strict=True))
        for choices in table["grid"]
        for values in product(*choices.values())
    )
    return table | {"grid": tried}


def specialise(method: Method, dataset: str) -> Method:
    """A method as it is declared for one data set."""
    own = _expand_grid(dict(method.at.get(dataset, {})))
    fixed = method.fixed | own.pop("fixed", {})
    if "seconds" not in own and "queries" not in fixed:
        train, val, _ = facts(dataset).rows
        rows = fixed.get("rows", train)
        rows = train + val if rows == "all" else rows
        own["seconds"] = method.seconds * max(0.2, (rows or _REFERENCE_ROWS) / _REFERENCE_ROWS)
    return replace(method, fixed=fixed, **own)


def make_smoke(experiment: Experiment, quick: dict[str, dict[str, Any]]) -> Experiment:
    """The same experiment in seconds: bundled rows, two settings, next to no training."""
    task = facts(experiment.smoke).task
    changed = {
        name: replace(
            method,
            fixed=method.fixed | quick[method.kind] if method.kind else {},
            grid=method.grid[:2],
            selection={},
            seconds=1.0,
            datasets=(),
            seeds=1,
            at={},
        )
        for name, method in experiment.methods.items()
        if not method.datasets or facts(method.datasets[0]).task == task
    }
    return replace(
        experiment,
        datasets=(experiment.smoke,),
        seeds=1,
        methods=changed,
        heights=experiment.heights[:1],
        published={},
    )
