"""Which tables there are, where they lie, and what is known of their columns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
MOST_TRAINING_ROWS = 10_000
SUITES = ("tables", "raw", "teaching")


@dataclass(frozen=True)
class Table:
    """One table: its file, its target, and the columns that other models need help with.

    Parameters
    ----------
    task : {"clf", "reg"}
        Classes or numbers.
    dates, identifiers : tuple of str
        Columns that the encoding of other models turns into numbers or leaves out. Our models are
        not told of them.
    """

    suite: str
    name: str
    task: str
    path: Path
    target: str = "target"
    dates: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def read(self) -> tuple[pd.DataFrame, pd.Series]:
        """The columns, and the target."""
        rows = pd.read_csv(self.path, sep="\t" if ".tsv" in self.path.suffixes else ",")
        return rows.drop(columns=self.target), rows[self.target]


# Files as people have them. The task, the target, and the columns of the encoding.
RAW: dict[str, dict] = {
    "adult": {"task": "clf", "target": "class"},
    "bank_full": {"task": "clf", "target": "y"},
    "california_housing": {"task": "reg", "target": "median_house_value"},
    "diamonds": {"task": "reg", "target": "price"},
    "hr_job_change": {"task": "clf", "target": "target", "identifiers": ("enrollee_id",)},
    "kc_house_data": {
        "task": "reg",
        "target": "price",
        "dates": ("date",),
        "identifiers": ("id",),
    },
    "online_shoppers_intention": {"task": "clf", "target": "Revenue"},
    "taxis": {"task": "reg", "target": "fare", "dates": ("pickup", "dropoff")},
}


def data_folder() -> Path:
    """DGTREES_DATA, else the folder of data sets beside the repository."""
    return Path(os.environ.get("DGTREES_DATA") or ROOT.parent / "shared" / "datasets")


def list_tables(suite: str, data: Path) -> list[Table]:
    """The tables of a suite that are there, cheapest first.

    Parameters
    ----------
    suite : {"tables", "raw"}
        Tables of numbers, as listed in their `tables.csv`; or files with text, dates and gaps.
    data : Path
        Folder with `tables` and `raw_tables` in it.
    """
    found = _list_numbers(data / "tables") if suite == "tables" else _list_raw(data / "raw_tables")
    if not found:
        raise SystemExit(f"{data}: must hold the tables of {suite!r}: set DGTREES_DATA, or --data")
    return found


def _list_numbers(folder: Path) -> list[Table]:
    if not (folder / "tables.csv").exists():
        return []
    listed = pd.read_csv(folder / "tables.csv")
    work = listed["rows"].clip(upper=MOST_TRAINING_ROWS) * listed["columns"]
    order = (work * listed["classes"].fillna(1)).sort_values(kind="stable").index
    return [
        Table("tables", row["name"], row["task"], folder / f"{row['name']}.tsv.gz")
        for _, row in listed.loc[order].iterrows()
    ]


def _list_raw(folder: Path) -> list[Table]:
    every = [Table("raw", n, path=folder / f"{n}.csv.gz", **known) for n, known in RAW.items()]
    there = [table for table in every if table.path.exists()]
    return sorted(there, key=lambda table: table.path.stat().st_size)
