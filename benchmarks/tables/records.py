"""What was measured: one CSV file a model, in an order of its own, so that changes read well."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pandas as pd

from dgtrees.writing import whole_file

RESULTS = Path(__file__).resolve().parent / "results"
_DIGITS = {"score": 5, "log_loss": 5, "auc": 5, "cpu_seconds": 3, "forest_seconds": 3}


@dataclass(frozen=True)
class Record:
    """One fit of a model.

    Parameters
    ----------
    rows, columns, classes : int
        Training rows, columns as they are in the file, classes of the training rows (0 for a
        target of numbers).
    score : float
        Share of the test rows that are right, or root mean squared error over the standard
        deviation of the test rows' target.
    log_loss, auc : float or None
        Of classes, and of two classes.
    cpu_seconds, forest_seconds : float
        Of fitting this model, and of fitting the random forest to the same table in the same run.
    version, recipe : str
        Of the package; and what our models were trained with.
    """

    suite: str
    table: str
    seed: int
    model: str
    task: str
    rows: int
    columns: int
    classes: int
    score: float
    log_loss: float | None
    auc: float | None
    cpu_seconds: float
    forest_seconds: float
    version: str
    recipe: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What there is one record of in a model's file."""
        return self.suite, self.table, self.seed


FIELDS = [field.name for field in fields(Record)]


def read(folder: Path, models: Iterable[str]) -> pd.DataFrame:
    """The records of these models, one row each; none where there is no file.

    Returns
    -------
    DataFrame with the columns of `Record`
    """
    paths = [folder / f"{model}.csv" for model in models]
    text = dict.fromkeys(("suite", "table", "model", "task", "version", "recipe"), str)
    found = [
        pd.read_csv(
            p, dtype=text, keep_default_na=False, na_values={name: [""] for name in _DIGITS}
        )
        for p in paths
        if p.exists()
    ]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=FIELDS)


def recipes(folder: Path, model: str) -> dict[tuple[str, str, int], str]:
    """The recipe of every record of a model by its key, "" for models of others."""
    kept = read(folder, [model])
    keys = zip(kept["suite"], kept["table"], kept["seed"], strict=True)
    return dict(zip(keys, kept["recipe"], strict=True))


def add(folder: Path, record: Record) -> None:
    """Put a record into its model's file, in place of one of the same table and seed."""
    path = folder / f"{record.model}.csv"
    lines = {}
    if path.exists():  # read again each time: another process may have added to it
        with path.open(newline="") as stream:
            lines = {(r["suite"], r["table"], int(r["seed"])): r for r in csv.DictReader(stream)}
    lines[record.key] = {name: _text(name, value) for name, value in asdict(record).items()}
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(path, text=True) as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines[key] for key in sorted(lines))


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{_DIGITS[name]}f}" if name in _DIGITS else str(value)
