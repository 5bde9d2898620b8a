"""Which column a user means: a name, a position, or several names with commas between them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from dgtrees.errors import DataError, Problems
from dgtrees.tables.batch import Batch

__all__ = ["Names", "named", "nearest"]

_POSITION = re.compile(r"-?[0-9]{1,9}")
_COMPARED = 20_000
"""Names that are looked at for one like the one given; it takes microseconds each."""

_HINTS = 20
"""Unknown names that are looked for; more are not shown."""


def named(batch: Batch, column: str | int, role: str) -> str:
    """A column's name, given that or its position."""
    names = Names(batch)
    found = names.one(column, role)
    names.settle()
    return found


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is most like one, whatever the case, if any is.

    >>> nearest("Incone", ["age", "income"])
    'income'
    """
    lower = {other.lower(): other for other in list(known)[:_COMPARED]}
    close = get_close_matches(name.lower(), lower, n=1)
    return lower[close[0]] if close else None


class Names:
    """Finds a batch's columns, and remembers all that it did not find."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.known = dict.fromkeys(batch.names)
        self.problems = Problems()

    def one(self, column: str | int, role: str) -> str:
        """A column's name, given that or its position; an empty name if there is none such."""
        if isinstance(column, str) and column in self.known:
            return column
        names = self.batch.names
        if isinstance(column, str) and not _POSITION.fullmatch(column):
            self._unknown(f"{role} must be one of its columns, got {column!r}{self._hint(column)}")
            return ""
        if -len(names) <= int(column) < len(names):
            return names[int(column)]
        self._unknown(
            f"{role} must be a position between {-len(names)} and {len(names) - 1}, got {column}"
        )
        return ""

    def several(self, columns: Iterable[str], role: str) -> list[str]:
        """Names of columns, each given alone or with others and commas between them."""
        return [self.one(name, role) for given in columns for name in self._parts(given)]

    def kinds(self, kinds: Mapping[str, str]) -> dict[str, str]:
        """The kind of every column that `kinds` names, alone or with others."""
        found: dict[str, str] = {}
        for given, kind in kinds.items():
            for name in self.several([given], kind):
                if name and found.setdefault(name, kind) != kind:
                    self._unknown(f"column {name!r} must be a category or a number, got both")
        return found

    def refuse_missing(self, columns: list[str]) -> None:
        """Refuse a table that lacks columns of a model, naming all of them."""
        for name in columns:
            self._unknown(
                "must have the columns the model was trained on, got none named "
                f"{name!r}{self._hint(name)}"
            )
        self.settle()

    def settle(self) -> None:
        """Raise what was not found, all of it, and say what there is."""
        names = [repr(name) if "," in name else name for name in self.batch.names[:12]]
        listed = ", ".join(names) + (", ..." if len(self.known) > 12 else "")
        hint = "" if self.batch.header else " (no header was found: if there is one, say so)"
        self.problems.settle(f"the columns are {listed}{hint}")

    def _hint(self, column: str) -> str:
        if len(self.problems.found) > _HINTS:
            return ""
        like = nearest(column, self.known)
        return "" if like is None else f" (did you mean {like!r}?)"

    def _unknown(self, message: str) -> None:
        self.problems.found.append(DataError(f"{self.batch.source}: {message}"))

    def _parts(self, given: str) -> list[str]:
        """A name as it is, or what its commas separate; a column's own name may hold commas."""
        if given in self.known or "," not in given:
            return [given]
        left, found = given.split(","), []
        commas = [name for name in self.known if "," in name]
        longest = 1 + max((name.count(",") for name in commas), default=0)
        while left:
            sizes = range(min(longest, len(left)), 0, -1)
            joined = {size: ",".join(left[:size]).strip() for size in sizes}
            size = next((size for size in sizes if joined[size] in self.known), 1)
            found.append(joined[size])
            left = left[size:]
        found = [name for name in found if name]
        meant = all(name in self.known or _POSITION.fullmatch(name) for name in found)
        return [given] if not meant and nearest(given, commas) else found
