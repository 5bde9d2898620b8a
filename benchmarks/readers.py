"""Seconds to read wide text tables, and to encode them: 50,000 columns by 2 rows.

    python -m benchmarks.readers [--columns 50000]

Every table goes the way of `dgt fit`: `read_table`, then `Encoder`. The best of three rounds is
shown, and the processor's seconds beside the clock's, for machines that do other things as well.
"""

from __future__ import annotations

import argparse
import io
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from dgtrees.tables.encoder import Encoder, columns_of
from dgtrees.tables.table import read_table

ROUNDS = 3


def delimited(columns: int, mark: str) -> bytes:
    names = [f"column{j}" for j in range(columns)]
    rows = [[*names, "y"], ["1.5"] * columns + ["0"], ["-2.25"] * columns + ["1"]]
    return "".join(mark.join(row) + "\n" for row in rows).encode()


def svmlight(columns: int) -> bytes:
    cells = [" ".join(f"{j + 1}:{value}" for j in range(columns)) for value in ("1.5", "-2.25")]
    return f"0 {cells[0]}\n1 {cells[1]}\n".encode()


def arff(columns: int) -> bytes:
    declared = "".join(f"@attribute column{j} numeric\n" for j in range(columns))
    rows = delimited(columns, ",").split(b"\n", 1)[1]
    return f"@relation wide\n{declared}@attribute y {{0,1}}\n@data\n".encode() + rows


def seconds(data: bytes, target: str | None) -> list[float]:
    """Reading and encoding, each by the clock and by the processor; the best of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        laps = [_now()]
        table = read_table(io.BytesIO(data), target)
        laps.append(_now())
        columns = columns_of(table.X)
        Encoder().fit(columns).expand(columns)
        laps.append(_now())
        rounds.append(np.diff(laps, axis=0).ravel())
    return np.min(rounds, axis=0).tolist()


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=50_000)
    columns = parser.parse_args().columns
    cases = [
        ("CSV", columns, delimited(columns, ","), "y"),
        ("TSV", columns, delimited(columns, "\t"), "y"),
        ("svmlight", columns, svmlight(columns), None),
        ("ARFF", columns, arff(columns), "y"),
        ("svmlight, 1 1:1 100000:1", 100_000, b"1 1:1 100000:1\n", None),
    ]
    shown = Table("format", "columns", "read, s", "(processor)", "encode, s", "(processor)")
    for name, width, data, target in cases:
        shown.add_row(name, f"{width:,}", *(f"{value:.2f}" for value in seconds(data, target)))
    Console().print(shown)


if __name__ == "__main__":
    main()
