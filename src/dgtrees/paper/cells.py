"""The cells of experiments and their records.

A cell is an experiment, a data set, a method and a seed. It is done when its record is there and
was made from the same declaration, so that a changed grid, number of epochs or default recipe runs
again while a changed text or estimate of cost does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.paper.experiment import Experiment, Method, specialise
from dgtrees.paper.splits import facts

OUTCOMES = ("done", "before", "failed", "left", "absent")
"""What may become of a cell in a run, see `runner.Outcome`."""

TREES = ("dgt", "dgt-forest")
"""Kinds of methods that a `Recipe` trains."""


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
        if self.kind not in TREES or "recipe" in self.fixed:
            return ()
        return (describe_preset(facts(self.dataset).task, self.fixed),)

    def read_record(self, folder: Path) -> dict[str, Any] | None:
        """What was recorded, if it was made from this declaration."""
        try:
            found = json.loads((folder / self.path).read_text())
        except FileNotFoundError:
            return None
        return found if found["declared"] == self.declared else None


def find_preset(task: str, settings: dict[str, Any]) -> Recipe:
    """The recipe that settings start from."""
    presets = RECIPES[settings.get("recipe", "default")]
    return presets.get(f"{task}, {settings.get('leaf', 'constant')} leaves", presets[task])


def describe_preset(task: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What the recipe that settings start from changes of a plain one."""
    recipe = find_preset(task, settings)
    return {
        known.name: getattr(recipe, known.name)
        for known in fields(recipe)
        if getattr(recipe, known.name) != known.default
    }


def is_of_older_recipe(record: dict[str, Any]) -> bool:
    """Whether a run of the paper's recipe was made when that was another one.

    A changed default recipe makes runs invalid; runs of the paper's are kept, and marked.
    """
    if record["settings"].get("recipe") != "paper" or record.get("kind") not in TREES:
        return False
    task = facts(record["dataset"]).task
    return record.get("recipe") != describe_preset(task, record["settings"])


def list_cells(experiment: Experiment, seeds: int | None = None) -> Iterator[Cell]:
    """All cells of an experiment, whether its data is there or not; reused ones are others'."""
    for dataset in experiment.datasets:
        for method in experiment.methods.values():
            if method.reuse or (method.datasets and dataset not in method.datasets):
                continue
            here = specialise(method, dataset)
            for height in experiment.heights or (facts(dataset).height,):
                for seed in range(seeds or here.seeds or experiment.seeds):
                    yield _make_cell(experiment, dataset, here, height, seed)


def _make_cell(
    experiment: Experiment, dataset: str, method: Method, height: int, seed: int
) -> Cell:
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
        self.by_method: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for path in sorted(folder.glob("*/*.json")):
            made = json.loads(path.read_text())
            key = (made["experiment"], made["dataset"], made["method"])
            self.by_method.setdefault(key, []).append(made)
        for found in self.by_method.values():
            found.sort(key=lambda made: made["seed"])

    def select(
        self, experiment: Experiment, dataset: str, method: Method, height: int | None = None
    ) -> list[dict[str, Any]]:
        """Those of a method on a data set, as they are declared now, seed by seed."""
        if method.reuse or (method.datasets and dataset not in method.datasets):
            return []
        here = specialise(method, dataset)
        height = facts(dataset).height if height is None else height
        first = _make_cell(experiment, dataset, here, height, 0)
        found = self.by_method.get((experiment.name, dataset, first.method), [])
        same = lambda seed: _make_cell(experiment, dataset, here, height, seed).declared  # noqa: E731
        return [made for made in found if made["declared"] == same(made["seed"])]


def select_cells(
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
        for cell in list_cells(experiment, seeds)
        if experiment.name in whole or (cell.dataset, cell.method) in needed[experiment.name]
        if not datasets or cell.dataset in datasets
        if not methods or cell.method in methods or cell.method.rpartition("-h")[0] in methods
    ]
