"""SpilledRows: examples in nameless files on this machine's disk, for more rows than memory holds.

The files vanish with the process, however it ends. They lie where temporary files do (TMPDIR).
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from typing import IO

import numpy as np

from dgtrees.tables.examples import Examples

__all__ = ["SpilledRows", "on_disk"]


class SpilledRows:
    """Encoded rows, targets and weights, written once and then read as arrays.

    The arrays outlive the `with` block, after which nothing more can be written.

    Examples
    --------
    >>> with SpilledRows() as rows:
    ...     rows.append(Examples(np.ones((2, 3)), np.array([0, 1]), np.ones(2)))
    ...     rows.append(Examples(np.zeros((1, 3)), np.array([1]), np.ones(1)))
    ...     examples = rows.examples()
    >>> examples.X.shape, examples.y.tolist()
    ((3, 3), [0, 1, 1])
    """

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self._shapes: list[tuple[np.dtype, tuple[int, ...]]] = []
        self._rows = 0
        # One an array, so that it does not matter how rows come in batches.
        self._digests = [hashlib.blake2b(digest_size=16) for _ in range(3)]

    def __len__(self) -> int:
        return self._rows

    def __enter__(self) -> SpilledRows:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files:
            file.close()

    def append(self, rows: Examples) -> None:
        """Write some rows."""
        arrays = (rows.X.astype(np.float64, copy=False), rows.y, rows.weight)
        if not self._files:
            self._files = [tempfile.TemporaryFile() for _ in arrays]  # noqa: SIM115
            self._shapes = [(array.dtype, array.shape[1:]) for array in arrays]
        for file, digest, array in zip(self._files, self._digests, arrays, strict=True):
            content = np.ascontiguousarray(array).tobytes()
            file.write(content)
            digest.update(content)
        self._rows += len(rows.X)

    def digest(self) -> str:
        """A short text that is another one for other rows, or another order."""
        return "".join(digest.hexdigest() for digest in self._digests)

    def examples(self) -> Examples:
        """All rows written so far; only those that are looked at come into memory."""
        for file in self._files:
            file.flush()
        return Examples(
            *(
                np.memmap(file, dtype, "r+", shape=(self._rows, *shape))
                for file, (dtype, shape) in zip(self._files, self._shapes, strict=True)
            )
        )


def on_disk(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Parts of an array, one below the other, as an array in a nameless file.

    >>> on_disk([np.zeros(2), np.ones(1)]).tolist()
    [0.0, 0.0, 1.0]
    """
    rows = 0
    with tempfile.TemporaryFile() as file:
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())
            rows += len(part)
        file.flush()
        return np.memmap(file, part.dtype, "r+", shape=(rows, *part.shape[1:]))
