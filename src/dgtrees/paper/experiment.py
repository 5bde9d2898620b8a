"""The declarative files: what is compared with what, turned into cells.

A cell is an experiment, a data set, a method and a seed. It is done when its record is there and
was made from the same declaration, so that a changed grid, number of epochs or default recipe runs
again while a changed text or estimate of cost does not.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.paper.splits import facts

FILES = Path(__file__).parent / "experiments"

OUTCOMES = ("done", "before", "failed", "left", "absent")
"""What may become of a cell in a run, see `runner.Outcome`."""

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


@dataclass(frozen=True)
class Cell:
    """One run, complete: a process needs nothing else to do it."""

    experiment: str
    dataset: str
    method: str
    seed: int
    kind: str
    height: int
    fixed: dict[str, Any]
    grid: tuple[dict[str, Any], ...]
    selection: dict[str, Any]
    chooser: int
    seconds: float

    @property
    def path(self) -> Path:
        """The record's place under the folder of results."""
        return Path(self.experiment, f"{self.dataset}-{self.method}-{self.seed}.json")

    @property
    def title(self) -> str:
        """What a line of progress calls it."""
        return f"{self.experiment} {self.dataset} {self.method} seed {self.seed}"

    @property
    def chooses(self) -> bool:
        """Whether it compares settings itself; else it takes those of the chooser's record."""
        return len(self.grid) > 1 and self.seed == self.chooser

    @property
    def source(self) -> Cell | None:
        """The cell whose choice this one takes over."""
        if len(self.grid) < 2 or self.chooses:
            return None
        return replace(self, seed=self.chooser)

    @property
    def declared(self) -> str:
        """A fingerprint of everything that shapes the result."""
        parts = (self.kind, self.height, self.fixed, self.grid, self.selection, self.chooser)
        text = json.dumps(parts + self._default_recipe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _default_recipe(self) -> tuple[dict[str, Any], ...]:
        """What the library's default recipe is for it, where that is what it shows."""
        if self.kind not in ("dgt", "dgt-forest") or "recipe" in self.fixed:
            return ()
        recipe = preset(facts(self.dataset).task, self.fixed)
        return (
            {
                known.name: getattr(recipe, known.name)
                for known in fields(recipe)
                if getattr(recipe, known.name) != known.default
            },
        )

    def record(self, folder: Path) -> dict[str, Any] | None:
        """What was recorded, if it was made from this declaration."""
        try:
            found = json.loads((folder / self.path).read_text())
        except FileNotFoundError:
            return None
        return found if found["declared"] == self.declared else None


def preset(task: str, settings: dict[str, Any]) -> Recipe:
    """The recipe that settings start from."""
    presets = RECIPES[settings.get("recipe", "default")]
    return presets.get(f"{task}, {settings.get('leaf', 'constant')} leaves", presets[task])


def experiments(files: Path = FILES) -> dict[str, Experiment]:
    """All experiments by name, in the order of the paper."""
    found = [read(path) for path in sorted(files.glob("*.toml"))]
    order = lambda e: (not e.table, e.table, e.figure or 99, e.name)  # noqa: E731
    return {experiment.name: experiment for experiment in sorted(found, key=order)}


def read(path: Path) -> Experiment:
    """One declarative file."""
    given = tomllib.loads(path.read_text())
    common, at = given.pop("common", {}), given.pop("at", {})
    methods = {
        name: _method(name, table, common, at) for name, table in given.pop("methods").items()
    }
    for key in ("datasets", "ours", "extra", "heights"):
        given[key] = tuple(given.get(key, ()))
    return Experiment(name=path.stem, methods=methods, **given)


def _method(name: str, table: dict, common: dict, at: dict) -> Method:
    table = dict(table)
    own = table.pop("at", {})
    table["fixed"] = common | table.get("fixed", {})
    places = {
        dataset: {**own.get(dataset, {}), "fixed": at.get(dataset, {}) | _fixed(own, dataset)}
        for dataset in {*own, *at}
    }
    for key in ("datasets", "reuse", "against"):
        table[key] = tuple(table.get(key, ()))
    return Method(name, at=places, **_expanded(table))


def _fixed(own: dict, dataset: str) -> dict[str, Any]:
    fixed: dict[str, Any] = own.get(dataset, {}).get("fixed", {})
    return fixed


def _expanded(table: dict) -> dict[str, Any]:
    """A grid is a list of tables whose entries are lists: all their combinations are tried."""
    if "grid" not in table:
        return table
    tried = tuple(
        dict(zip(choices, values, strict=True))
        for choices in table["grid"]
        for values in product(*choices.values())
    )
    return table | {"grid": tried}


def at(method: Method, dataset: str) -> Method:
    """A method as it is declared for one data set."""
    own = _expanded(dict(method.at.get(dataset, {})))
    fixed = method.fixed | own.pop("fixed", {})
    if "seconds" not in own and "queries" not in fixed:
        train, val, _ = facts(dataset).rows
        rows = fixed.get("rows", train)
        rows = train + val if rows == "all" else rows
        own["seconds"] = method.seconds * max(0.2, (rows or _REFERENCE_ROWS) / _REFERENCE_ROWS)
    return replace(method, fixed=fixed, **own)


def cells(experiment: Experiment, seeds: int | None = None) -> Iterator[Cell]:
    """All cells of an experiment, whether its data is there or not; reused ones are others'."""
    for dataset in experiment.datasets:
        for method in experiment.methods.values():
            if method.reuse or (method.datasets and dataset not in method.datasets):
                continue
            here = at(method, dataset)
            for height in experiment.heights or (facts(dataset).height,):
                for seed in range(seeds or here.seeds or experiment.seeds):
                    yield _cell(experiment, dataset, here, height, seed)


def _cell(experiment: Experiment, dataset: str, method: Method, height: int, seed: int) -> Cell:
    return Cell(
        experiment=experiment.name,
        dataset=dataset,
        method=f"{method.name}-h{height}" if experiment.heights else method.name,
        seed=seed,
        kind=method.kind,
        height=height,
        fixed=method.fixed,
        grid=method.grid,
        selection=method.selection,
        chooser=seed if method.choose == "every seed" else 0,
        seconds=method.seconds,
    )


class Records:
    """All records of a folder, read once."""

    def __init__(self, folder: Path) -> None:
        self.made: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for path in sorted(folder.glob("*/*.json")):
            made = json.loads(path.read_text())
            key = (made["experiment"], made["dataset"], made["method"])
            self.made.setdefault(key, []).append(made)
        for found in self.made.values():
            found.sort(key=lambda made: made["seed"])

    def of(
        self, experiment: Experiment, dataset: str, method: Method, height: int | None = None
    ) -> list[dict[str, Any]]:
        """Those of a method on a data set, as they are declared now, seed by seed."""
        if method.reuse or (method.datasets and dataset not in method.datasets):
            return []
        here = at(method, dataset)
        height = facts(dataset).height if height is None else height
        first = _cell(experiment, dataset, here, height, 0)
        found = self.made.get((experiment.name, dataset, first.method), [])
        same = lambda seed: _cell(experiment, dataset, here, height, seed).declared  # noqa: E731
        return [made for made in found if made["declared"] == same(made["seed"])]


def smoke(experiment: Experiment, quick: dict[str, dict[str, Any]]) -> Experiment:
    """The same experiment in seconds: bundled rows, two settings, next to no training."""
    task = facts(experiment.smoke).task
    changed = {
        name: replace(
            method,
            fixed=method.fixed | quick[method.kind] if method.kind else {},
            grid=method.grid[:2],
            selection={},
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


def selected(
    known: Iterable[Experiment],
    *,
    tables: Iterable[int] = (),
    figures: Iterable[int] = (),
    names: Iterable[str] = (),
    datasets: Iterable[str] = (),
    methods: Iterable[str] = (),
    seeds: int | None = None,
) -> list[Cell]:
    """The cells that a command names; all of them where it names nothing."""
    known, tables, figures, names = list(known), set(tables), set(figures), set(names)
    chosen = [
        e
        for e in known
        if not (tables or figures or names)
        or e.table in tables - {0}
        or e.figure in figures - {0}
        or e.name in names
    ]
    # A table whose columns are another table's needs that one's cells.
    needed: dict[str, set[tuple[str, str]]] = {name: set() for name in (e.name for e in chosen)}
    for experiment in chosen:
        for method in experiment.methods.values():
            for other in method.reuse:
                needed.setdefault(other, set()).update(
                    (dataset, method.name) for dataset in experiment.datasets
                )
    datasets, methods, whole = set(datasets), set(methods), {e.name for e in chosen}
    return [
        cell
        for experiment in known
        if experiment.name in needed
        for cell in cells(experiment, seeds)
        if experiment.name in whole or (cell.dataset, cell.method) in needed[experiment.name]
        if not datasets or cell.dataset in datasets
        if not methods or cell.method in methods or cell.method.rpartition("-h")[0] in methods
    ]
