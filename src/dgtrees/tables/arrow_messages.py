"""Arrow's own messages, looked at before Arrow unpacks them: how large, and whether all are there.

A file of Arrow messages says of every compressed buffer how long it will be. pyarrow does not tell,
so the few numbers are read here from the flatbuffers that describe a message; see "Encapsulated
message format" and "IPC file format" in Arrow's specification of columnar data.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from dgtrees.errors import DataError
from dgtrees.tables.growth import check_growth

__all__ = ["MessageStream", "check_file"]

_CONTINUES = b"\xff\xff\xff\xff"
_END = _CONTINUES + bytes(4)
_DICTIONARY, _ROWS = 2, 3


class MessageStream(io.RawIOBase):
    """A stream of messages for Arrow to read, each checked when it comes up."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._packed = self._unpacked = 0
        self._pieces = self._checked()
        self._piece = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        if not self._piece:
            self._piece = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._piece))
        buffer[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count

    def check_ended(self, rows: int) -> None:
        """Refuse a stream that stopped without the mark of its end."""
        if not self._ended:
            raise DataError(
                f"{self._name}: an Arrow stream must end with its end mark, got {rows:,} rows and "
                "no mark: it is cut off, get it again; if it is whole, its writer was not closed"
            )

    def _checked(self) -> Iterator[bytes]:
        while True:
            start = self._read(8)
            self._ended = start == _END
            yield start
            if self._ended or len(start) < 8 or not start.startswith(_CONTINUES):
                return  # what is no message, Arrow refuses
            header = self._read(*struct.unpack("<i", start[4:]))
            length, _ = message = _message(header)
            body = self._read(length)
            self._unpacked += _unpacked_size(message, header, io.BytesIO(body), 0)
            check_growth(self._unpacked, self._packed, self._name)
            yield header + body

    def _read(self, size: int) -> bytes:
        data = self._stream.read(max(0, size))
        self._packed += len(data)
        return data


def check_file(file: Any, name: str) -> None:
    """Refuse a file of Arrow messages that would grow too much; it is left at its beginning."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 10))
    (length,) = struct.unpack("<i", file.read(4))
    file.seek(max(0, size - 10 - length))
    footer = file.read(max(0, length))
    root = _number("<I", footer, 0)
    unpacked = 0
    for number in (2, 3):  # dictionaries, batches of rows
        for at in _elements(footer, root, number, 24):
            start, header_length = struct.unpack_from("<qi", footer, at)
            file.seek(start)
            header = file.read(header_length)
            header = header[8:] if header.startswith(_CONTINUES) else header[4:]
            message = _message(header)
            unpacked += _unpacked_size(message, header, file, start + header_length)
            check_growth(unpacked, size, name)
    file.seek(0)


def _message(header: bytes) -> tuple[int, int | None]:
    """Length of a message's body, and where its header describes rows, None if it does not."""
    root = _number("<I", header, 0)
    length = _field(header, root, 3)
    kind, rows = _field(header, root, 1), _table(header, root, 2)
    kind = None if kind is None else header[kind]
    if kind == _DICTIONARY and rows is not None:
        rows = _table(header, rows, 1)
    body = 0 if length is None else _number("<q", header, length)
    return body, rows if kind in (_DICTIONARY, _ROWS) else None


def _unpacked_size(message: tuple[int, int | None], header: bytes, file: Any, body: int) -> int:
    """Bytes of the rows of a message, unpacked; a value counts as one at least."""
    length, rows = message
    if rows is None:
        return length
    if _table(header, rows, 3) is not None:  # compressed
        length = 0
        for at in _elements(header, rows, 2, 16):
            start, size = struct.unpack_from("<qq", header, at)
            if size:
                file.seek(body + start)
                grown = _number("<q", file.read(8), 0)
                length += size if grown < 0 else grown
    count = _field(header, rows, 0)
    columns = len(_elements(header, rows, 1, 16))
    return max(length, columns * (0 if count is None else _number("<q", header, count)))


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table lies, None if it is left out."""
    fields = table - _number("<i", data, table)
    entry = 4 + 2 * number
    offset = _number("<H", data, fields + entry) if entry < _number("<H", data, fields) else 0
    return table + offset if offset else None


def _table(data: bytes, table: int, number: int) -> int | None:
    """Where the table lies that is a field of another."""
    at = _field(data, table, number)
    return None if at is None else at + _number("<I", data, at)


def _elements(data: bytes, table: int, number: int, size: int) -> range:
    """Where the elements of a vector lie."""
    at = _table(data, table, number)
    if at is None:
        return range(0)
    return range(at + 4, at + 4 + size * _number("<I", data, at), size)


def _number(format: str, data: bytes, at: int) -> int:
    (number,) = struct.unpack_from(format, data, at)
    return int(number)
