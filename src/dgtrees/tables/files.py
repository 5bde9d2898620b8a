"""Data files as bytes: open what may be compressed, and hand out whole lines.

Every reader of a text format begins here, so that "-", .gz, .bz2 and .xz, line ends of any kind
and encodings are one module's business.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dgtrees.errors import DataError
from dgtrees.schema import shown
from dgtrees.tables.growth import Counted, Unpacked

__all__ = ["blocks_of_lines", "check_dense_size", "open_bytes", "source_name"]

_BLOCK_BYTES = 1 << 22
_LONGEST_LINE = 1 << 28
_LARGEST_DENSE = 1 << 34
_MOST_COLUMNS = 1 << 20
_COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def source_name(source: Any) -> str:
    """How errors name a source: its path as the user wrote it."""
    if isinstance(source, (str, Path)):
        return "standard input" if str(source) == "-" else str(source)
    return str(getattr(source, "name", None) or f"the {type(source).__name__}")


@contextmanager
def open_bytes(source: Any) -> Iterator[BinaryIO]:
    """The bytes of a path, of "-" or of an open stream, decompressed if they are compressed."""
    name = source_name(source)
    own: Any = None
    try:
        if isinstance(source, (str, Path)) and str(source) == "-":
            raw: Any = sys.stdin.buffer
        elif isinstance(source, (str, Path)):
            own = raw = open(source, "rb")  # noqa: SIM115 - closed below
        elif hasattr(source, "read"):
            raw = source
        else:
            raise TypeError(
                f"a file must be a path or an open stream, got {shown(source)}: give its path"
            )
        buffered = raw if hasattr(raw, "peek") else io.BufferedReader(_Raw(raw))
        start = buffered.peek(8)[:8]
        opener = next((o for magic, o in _COMPRESSED.items() if start.startswith(magic)), None)
        yield buffered if opener is None else _unpacked(opener, buffered, name)
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{name}: damaged compressed file ({error}): get it again") from error
    except FileNotFoundError as error:
        raise DataError(f"{name}: no such file: check the path") from error
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from error
    finally:
        if own is not None:
            own.close()


def _unpacked(opener: Any, stream: Any, name: str) -> BinaryIO:
    packed = Counted(stream)
    return io.BufferedReader(Unpacked(opener(packed), lambda: packed.count, name))


class _Raw(io.RawIOBase):
    """Any object with `read` as a raw stream, for buffering."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        if isinstance(data, str):
            raise DataError(f"{source_name(self._stream)}: must be opened in binary mode ('rb')")
        buffer[: len(data)] = data
        return len(data)


def blocks_of_lines(
    stream: BinaryIO, source: str, encoding: str = "utf-8", block_bytes: int = _BLOCK_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Number of the first line (from 1) and bytes of blocks of whole lines.

    Bytes are UTF-8 whatever the encoding was, line ends are ``\\n``, and a byte order mark is
    gone. A file without a last line end gets none.
    """
    text = _lines(stream, source, block_bytes)
    line = 1
    start = next(text, b"")
    bom = next((b for b in _BOMS if start.startswith(b)), b"")
    encoding = _BOMS.get(bom, encoding)
    wide = encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32"))
    if wide:
        whole = b"".join([start, *text])  # rare, and a line end is no single byte there
        text, start = iter(()), _utf8(whole[len(bom) :], encoding, source, line)
    else:
        start = start[len(bom) :]
    while start:
        block = start if wide else _utf8(start, encoding, source, line)
        if b"\x00" in block:
            at = line + block[: block.index(b"\x00")].count(b"\n")
            raise DataError(
                f"{source}, line {at}: text must not hold zero bytes: this looks like a binary "
                "file; check the path, or give the encoding (utf-16?)"
            )
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield line, block
        line += block.count(b"\n")
        start = next(text, b"")


def _lines(stream: BinaryIO, source: str, block_bytes: int) -> Iterator[bytes]:
    """Blocks that end with a line end (``\\n``, or ``\\r`` where there is no other)."""
    rest = b""
    # As much again as there is of a line without an end: every byte is copied twice at most.
    while data := stream.read(max(block_bytes, len(rest))):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > block_bytes // 2:
            # A last byte \r may be half of \r\n: leave it for the next block.
            cut = data.rfind(b"\r", 0, len(data) - 1) + 1
        if not cut and len(data) > _LONGEST_LINE:
            raise DataError(
                f"{source}: lines must be shorter than {_LONGEST_LINE >> 20} MiB: "
                "this does not look like a text table"
            )
        rest = data[cut:]
        if cut:
            yield data[:cut]
    if rest:
        yield rest


def _utf8(block: bytes, encoding: str, source: str, first_line: int) -> bytes:
    try:
        text = block.decode(encoding)
    except UnicodeDecodeError as error:
        before = block[: error.start]
        line = first_line + before.count(b"\n")
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise DataError(
            f"{source}, line {line}, byte {column}: must be {encoding}, "
            f"got the byte 0x{block[error.start]:02x}: if this is a table, give its encoding "
            "(often encoding='latin-1' or --encoding latin-1)"
        ) from error
    except LookupError as error:
        raise DataError(f"{source}: unknown encoding {encoding!r}: try utf-8 or latin-1") from error
    return block if encoding.lower() in ("utf-8", "utf8") else text.encode("utf-8")


def check_dense_size(rows: int, columns: int, source: str) -> None:
    """Refuse a sparse file whose dense array could never be held, or has endless columns."""
    if columns > _MOST_COLUMNS:
        raise DataError(
            f"{source}: a sparse table must have at most {_MOST_COLUMNS:,} features, got "
            f"{columns:,}: choose or hash them to fewer, or check the largest index"
        )
    size = 8 * rows * columns
    if size > _LARGEST_DENSE:
        raise DataError(
            f"{source}: {rows:,} rows with {columns:,} features would need {size / 2**30:,.0f} GiB "
            "as a dense table: choose fewer features, or check the largest index"
        )
