"""Shards: the Parquet files of one table, as one numbered sequence of rows.

Rows are numbered through all files, in the order of their names, and a worker's share is a range
of these numbers: shares differ by one row at most, however unequal files and row groups are.
Whatever is drawn for a row depends on its number, so it is the same for any number of workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dgtrees.errors import DataError, Problems
from dgtrees.tables.batch import Batch
from dgtrees.tables.binary import from_parquet
from dgtrees.tables.files import open_bytes
from dgtrees.tables.row_labels import row_labels
from dgtrees.tables.table import Columns, Table, typed

__all__ = ["Shards", "find_shards", "row_draws"]

_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class Shards:
    """Files of one schema, and the number of rows of each."""

    paths: tuple[str, ...]
    rows: tuple[int, ...]
    schema: pa.Schema

    def __len__(self) -> int:
        return sum(self.rows)

    def share(self, worker: int, workers: int) -> range:
        """Numbers of the rows of one worker, counted from 0.

        >>> shards = Shards(("a.parquet", "b.parquet"), (3, 4), None)
        >>> [list(shards.share(worker, 2)) for worker in (0, 1)]
        [[0, 1, 2], [3, 4, 5, 6]]
        """
        return range(len(self) * worker // workers, len(self) * (worker + 1) // workers)

    def batches(self, rows: range, columns: list[str] | None = None) -> Iterator[tuple[int, Batch]]:
        """Rows as the files have them, each batch after the number of its first row."""
        before = 0
        for path, count in zip(self.paths, self.rows, strict=True):
            start, stop = max(0, rows.start - before), min(count, rows.stop - before)
            if start < stop:
                first = before + start
                with open_bytes(path) as stream:
                    for batch in from_parquet(stream, path, start, stop, columns):
                        yield first, batch
                        first += batch.rows
            before += count

    def tables(
        self, rows: range, columns: Columns, task: str, classes: np.ndarray | None = None
    ) -> Iterator[tuple[int, Table]]:
        """Rows as `Table`s, each after the number of its first row."""
        for first, batch in self.batches(rows):
            yield first, typed(batch, columns, task, classes)


def find_shards(source: str | Path | Sequence[str | Path], like: Shards | None = None) -> Shards:
    """The Parquet files of a folder (and the folders in it), or those named; checked.

    Parameters
    ----------
    source : path or sequence of paths
        A folder, a file, or several files.
    like : Shards, optional
        Files whose columns these must have too.

    Raises
    ------
    DataError
        Naming the file that cannot be read or has other columns than the first.
    """
    paths = _list_files(source)
    schema = None if like is None else like.schema
    first = paths[0] if like is None else like.paths[0]
    rows, problems = [], Problems()
    for path in paths:
        with problems.collect():
            found, count = _footer(path)
            schema = found if schema is None else schema
            _check_same(found, schema, path, first)
            rows.append(count)
    problems.settle()
    assert schema is not None  # of the first file at least
    if not sum(rows):
        raise DataError(f"{source}: must hold at least one row, got none in {len(paths)} files")
    return Shards(tuple(paths), tuple(rows), schema)


def row_draws(seed: int, first: int, rows: int) -> np.ndarray:
    """Numbers between 0 and 1 for rows first, first + 1, ..., the same in whatever batch."""
    # Philox gives four numbers a count, and can start at any count.
    skipped = first % 4
    source = np.random.Generator(np.random.Philox(key=seed, counter=first // 4))
    return source.random(skipped + rows)[skipped:]


def _list_files(source: str | Path | Sequence[str | Path]) -> list[str]:
    if not isinstance(source, (str, Path)):
        paths = [str(path) for path in source]
    elif Path(source).is_dir():
        paths = sorted(
            str(path)
            for path in Path(source).rglob("*")
            if path.suffix.lower() in _SUFFIXES and not path.name.startswith((".", "_"))
        )
    else:
        paths = [str(source)]
    if not paths:
        raise DataError(
            f"{source}: must hold Parquet files ({', '.join(_SUFFIXES)}), got none: check the "
            "folder, or write the table as Parquet"
        )
    return paths


def _footer(path: str) -> tuple[pa.Schema, int]:
    """Columns and number of rows of a file."""
    with open_bytes(path) as stream:
        try:
            file = parquet.ParquetFile(stream)
            labels = row_labels(file.schema_arrow)
            columns = [field for field in file.schema_arrow if field.name not in labels]
            return pa.schema(columns), file.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(f"{path}: not a readable Parquet file ({reason})") from error


def _check_same(found: pa.Schema, expected: pa.Schema, path: str, first: str) -> None:
    times, wanted = Counter(found.names), set(expected.names)
    if len(times) < len(found.names):
        twice = min(name for name, count in times.items() if count > 1)
        raise DataError(f"{path}: column names must differ, got {twice!r} twice: rename one")
    lacks = [name for name in expected.names if name not in times]
    more = [name for name in found.names if name not in wanted]
    for word, names in (("no", lacks), ("also", more)):
        if names:
            listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
            raise DataError(
                f"{path}: must have the columns of {first}, got {word} {listed}: write all "
                "files with the same columns"
            )
    for name in expected.names:
        one, other = found.field(name).type, expected.field(name).type
        if pa.types.is_dictionary(one) and pa.types.is_dictionary(other):
            # How categories are numbered is each file's own business.
            one, other = one.value_type, other.value_type
        if one != other:
            raise DataError(
                f"{path}, column {name!r}: must be of the type {other} as in {first}, got {one}: "
                "write all files with one schema"
            )
    if found.names != expected.names:
        raise DataError(f"{path}: must have its columns in the order of {first}: reorder them")
