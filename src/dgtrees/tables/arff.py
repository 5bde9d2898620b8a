"""ARFF files (Weka): ``@attribute`` lines that declare columns, then rows of a CSV of its own.

Read here: numeric, integer, real, nominal and string attributes, dense and sparse rows, quotes,
``%`` comments, ``?`` for missing. Dates, relational attributes and instance weights are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from dgtrees.errors import DataError
from dgtrees.tables.files import blocks_of_lines, check_dense_size

__all__ = ["ArffTable", "parse_arff", "read_arff"]

# All repetitions are possessive (*+, ++): what they took they keep, so that a line which does not
# match is given up after one pass, and not after a pass for every way to share out its blanks.
_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_ATTRIBUTE = re.compile(
    rf"@attribute\s++({_QUOTED}|[^\s'\"{{}},%]++)\s*+"
    rf"(\{{(?:{_QUOTED}|[^'\"}}])*+\}}|[^\s{{%]++)",
    re.IGNORECASE,
)
_FIELD = re.compile(rf"\s*+({_QUOTED}|[^,'\"]*+)\s*+(,|$)")
_ENTRY = re.compile(rf"((?:{_QUOTED}|[^,'\"])*+)(,|$)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ESCAPE = re.compile(r"\\(.)")


class _Attribute:
    """A declared column: numbers, one of some values, or any string."""

    def __init__(self, name: str, kind: str, values: tuple[str, ...] = ()) -> None:
        self.name, self.kind, self.values = name, kind, frozenset(values)
        # What a sparse row means by leaving an entry out.
        self.default = 0.0 if kind == "number" else (values[0] if values else None)


@dataclass(frozen=True)
class ArffTable:
    """Columns as declared ("number", "nominal" or "string"), and the line of every row."""

    names: list[str]
    kinds: list[str]
    columns: list[np.ndarray]
    lines: np.ndarray


def read_arff(stream: BinaryIO, source: str) -> tuple[list[str], list[np.ndarray]]:
    """Names and columns: float64 with NaN for numbers, objects with None for all others.

    Examples
    --------
    >>> import io
    >>> text = b"@relation r\\n@attribute a numeric\\n@attribute b {x, y}\\n@data\\n1.5,x\\n?,y\\n"
    >>> read_arff(io.BytesIO(text), "example")
    (['a', 'b'], [array([1.5, nan]), array(['x', 'y'], dtype=object)])
    """
    table = parse_arff(stream, source)
    return table.names, table.columns


def parse_arff(stream: BinaryIO, source: str) -> ArffTable:
    """The whole file; raises `DataError` naming file, line and column."""
    attributes: list[_Attribute] = []
    known: set[str] = set()
    cells: list[list] = []
    lines: list[int] = []
    in_data = False
    for line, text in _numbered_lines(stream, source):
        place = f"{source}, line {line}"
        if in_data:
            if text.startswith("{"):  # three bytes may stand for a row of any length
                check_dense_size(len(lines) + 1, len(attributes), source)
            row = _row(text, attributes, place)
            for column, value in zip(cells, row, strict=True):
                column.append(value)
            lines.append(line)
            continue
        word = text.split(None, 1)[0].lower()
        if word == "@attribute":
            attributes.append(_declared(text, place, known))
            known.add(attributes[-1].name)
        elif word == "@data":
            if not attributes:
                raise DataError(f"{place}: @data must follow @attribute lines, got none of them")
            in_data, cells = True, [[] for _ in attributes]
        elif word != "@relation":
            raise DataError(
                f"{place}: expected @relation, @attribute or @data, got {text[:40]!r}: "
                "check that this is an ARFF file"
            )
    if not in_data or not cells[0]:
        raise DataError(f"{source}: must hold rows after @data, got none: check the file")
    columns = [
        np.array(values, dtype=np.float64 if a.kind == "number" else object)
        for a, values in zip(attributes, cells, strict=True)
    ]
    names, kinds = [a.name for a in attributes], [a.kind for a in attributes]
    return ArffTable(names, kinds, columns, np.array(lines))


def _numbered_lines(stream: BinaryIO, source: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers."""
    for first, block in blocks_of_lines(stream, source):
        for offset, line in enumerate(block.decode("utf-8").split("\n")):
            text = line.strip()
            if text and not text.startswith("%"):
                yield first + offset, text


def _declared(text: str, place: str, known: set[str]) -> _Attribute:
    match = _ATTRIBUTE.match(text)
    if match is None:
        raise DataError(f"{place}: expected '@attribute name type', got {text[:60]!r}: fix it")
    name, kind = _unquoted(match[1]), match[2].strip()
    if name in known:
        raise DataError(f"{place}: attribute names must differ, got {name!r} twice: rename one")
    if kind.startswith("{"):
        inside = kind[1:-1]
        values = tuple(_split(inside, place)) if inside.strip() else ()
        return _Attribute(name, "nominal", tuple(v for v in values if v is not None))
    word = kind.split()[0].lower()
    if word in ("numeric", "real", "integer"):
        return _Attribute(name, "number")
    if word == "string":
        return _Attribute(name, "string")
    raise DataError(
        f"{place}, column {name!r}: attributes of type {kind[:30]!r} are not supported: turn it "
        "into numbers or a nominal attribute, or drop it"
    )


def _row(text: str, attributes: list[_Attribute], place: str) -> list:
    if text.startswith("{"):
        return _sparse_row(text, attributes, place)
    fields = _split(text, place)
    if len(fields) != len(attributes):
        raise DataError(
            f"{place}: rows must have {len(attributes)} values as declared, got {len(fields)}: "
            "fix the line"
        )
    return [_value(f, a, place) for f, a in zip(fields, attributes, strict=True)]


def _sparse_row(text: str, attributes: list[_Attribute], place: str) -> list:
    if not text.endswith("}"):
        raise DataError(f"{place}: a sparse row must end with '}}', got {text[-20:]!r}: fix it")
    row = [a.default for a in attributes]
    seen: set[int] = set()
    for entry in filter(None, _pieces(_ENTRY, text[1:-1].strip(), place)):
        index, field = [*entry.split(None, 1), "", ""][:2]
        if not re.fullmatch(r"\d{1,9}", index) or int(index) >= len(row) or int(index) in seen:
            raise DataError(
                f"{place}: sparse entries must be 'column value' with each column below "
                f"{len(row)} once, got {entry.strip()[:40]!r}: fix it"
            )
        seen.add(int(index))
        row[int(index)] = _value(_split(field, place)[0], attributes[int(index)], place)
    return row


def _split(text: str, place: str) -> list[str | None]:
    """Values of a comma-separated line; None for an unquoted question mark."""
    if "'" not in text and '"' not in text and "\\" not in text:
        return [None if f.strip() == "?" else f.strip() for f in text.split(",")]
    raw = [piece.strip() for piece in _pieces(_FIELD, text, place)]
    return [None if piece == "?" else _unquoted(piece) for piece in raw]


def _pieces(pattern: re.Pattern[str], text: str, place: str) -> Iterator[str]:
    """What stands between commas; those in quotes do not count."""
    at = 0
    while True:
        match = pattern.match(text, at)
        if match is None:
            raise DataError(f"{place}: quotes must be closed, got {text[at : at + 40]!r}: fix it")
        yield match[1]
        at = match.end()
        if not match[2]:
            return


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _value(field: str | None, attribute: _Attribute, place: str) -> float | str | None:
    if field is None:
        return float("nan") if attribute.kind == "number" else None
    if attribute.kind == "number":
        if _NUMBER.fullmatch(field) and np.isfinite(number := float(field)):
            return number
        rule = "must be a finite number"
    elif attribute.kind == "string" or field in attribute.values:
        return field
    else:
        rule = "must be one of the declared values"
    raise DataError(f"{place}, column {attribute.name!r}: {rule}, got {field[:40]!r}: fix it")
