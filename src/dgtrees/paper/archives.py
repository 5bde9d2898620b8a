"""Published files: find one in whichever form it lies there, open it, check its content.

A publisher may give a file as it is, compressed, or inside an archive, and a mirror may have
compressed it anew. What is compared is therefore always the sha256 of the uncompressed content.
Which files belong to which data set is in `data_sets.toml`; `download` gets them.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from dgtrees.errors import DataError
from dgtrees.tables.growth import Unpacked

__all__ = ["DataFile", "FileSource", "find_file", "open_file", "verify_file"]

_COMPRESSIONS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ARCHIVES = (".zip", ".tgz", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz")
DAMAGED = (EOFError, OSError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What reading a cut or broken compressed file raises."""


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    name : str
        Its name, uncompressed, in the folder of the data set.
    url : str or None
        Where to download it, or the archive that holds it; None: it has to be got by hand.
    sha256 : str or None
        Of the uncompressed content; None where nobody has stated it.
    archive : str or None
        The archive the publisher puts it in. The member is the one whose path ends in `name`.
    ignore_line_ends : bool
        Whether copies that differ in carriage returns and empty lines count as the same file;
        `sha256` is then that of the lines that are left, each ended by a line feed.
    optional : bool
        Whether the data set can be read without it.
    instead : str or None
        The name of another file that holds the same rows: one of the two is enough.
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    archive: str | None = None
    ignore_line_ends: bool = False
    optional: bool = False
    instead: str | None = None

    @property
    def stored_name(self) -> str:
        """The name under which a download is kept: the publisher's own."""
        if self.archive:
            return self.archive
        return self.url.rsplit("/", 1)[-1] if self.url else self.name


def find_file(file: DataFile, folder: Path) -> Path | None:
    """The path of a file in `folder`, plain, compressed or inside its archive; None if absent."""
    names = [file.name, *(file.name + suffix for suffix in (*_COMPRESSIONS, ".zip"))]
    names += [file.archive] if file.archive else []
    return next((folder / name for name in names if (folder / name).is_file()), None)


@contextmanager
def open_file(path: Path, name: str) -> Iterator[BinaryIO]:
    """Open the content of `path` for reading bytes, whatever it is packed in.

    Parameters
    ----------
    path : Path
        A plain file, one compressed as .gz, .bz2 or .xz, or an archive (.zip or .tar).
    name : str
        For an archive, the member: the one whose path ends in this name.
    """
    with ExitStack() as stack:
        try:
            if path.name.endswith(_ARCHIVES):
                yield _bound(_open_member(path, name, stack), path)
            else:
                opener = _COMPRESSIONS.get(path.suffix, open)
                content = stack.enter_context(cast(BinaryIO, opener(path, "rb")))
                yield content if opener is open else _bound(content, path)
        except DAMAGED as error:
            if getattr(error, "errno", None):  # the system's answer, not the content's fault
                reason = getattr(error, "strerror", None)
                raise DataError(f"{path} must be readable, got {reason}: check it") from error
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise DataError(
                f"{path} must be a whole, readable file, but reading it stopped with {reason}: "
                "delete it and fetch it again"
            ) from error


def _bound(content: BinaryIO, path: Path) -> BinaryIO:
    size = path.stat().st_size
    return io.BufferedReader(Unpacked(content, lambda: size, str(path)))


def _open_member(path: Path, name: str, stack: ExitStack) -> BinaryIO:
    if path.suffix == ".zip":
        bundle = stack.enter_context(zipfile.ZipFile(path))
        members = bundle.namelist()
        return cast(BinaryIO, stack.enter_context(bundle.open(_find_member(path, name, members))))
    tar = stack.enter_context(tarfile.TarFile.open(path))
    content = tar.extractfile(_find_member(path, name, tar.getnames()))
    if content is None:
        raise DataError(f"{name} in {path} must be a file, not a folder: fetch the archive again")
    return cast(BinaryIO, stack.enter_context(content))


def _find_member(path: Path, name: str, members: list[str]) -> str:
    found = [m for m in members if m == name or m.endswith("/" + name)]
    if len(found) != 1:
        raise DataError(
            f"{path} must hold one file {name}, got {len(found)} among its {len(members)} members: "
            "check that it is the publisher's archive"
        )
    return found[0]


def verify_file(file: DataFile, path: Path) -> None:
    """Raise `DataError` unless `path` is readable to its end and has the content it should have."""
    with open_file(path, file.name) as stream:
        if file.ignore_line_ends:
            found = hashlib.sha256(_join_lines(stream.read())).hexdigest()
        else:
            found = hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()
    _compare(file, path, found)


def _join_lines(content: bytes) -> bytes:
    """The content without carriage returns and empty lines."""
    return b"".join(line + b"\n" for line in content.splitlines() if line)


def _compare(file: DataFile, path: Path, found: str) -> None:
    if file.sha256 and found != file.sha256:
        again = f"download {file.url} by hand to" if file.url else "put the published file at"
        raise DataError(
            f"the content of {path} must have sha256 {file.sha256}, got {found}: delete it and "
            f"fetch it again, or {again} {path.parent / file.stored_name}"
        )


class FileSource:
    """The files of one data set in one folder, as its parser sees them."""

    def __init__(self, files: tuple[DataFile, ...], folder: Path) -> None:
        self._files = {file.name: file for file in files}
        self._folder = folder

    @property
    def names(self) -> tuple[str, ...]:
        """What the files are called."""
        return tuple(self._files)

    def has(self, name: str) -> bool:
        """Whether the file is there."""
        return find_file(self._files[name], self._folder) is not None

    def where(self, name: str) -> str:
        """The path of the file, for messages."""
        return str(find_file(self._files[name], self._folder))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading bytes; content with a known sha256 is verified first."""
        file = self._files[name]
        path = find_file(file, self._folder)
        if path is None:
            raise DataError(f"{self._folder} must hold {name}, which is missing: fetch it first")
        with open_file(path, name) as stream:
            if file.sha256 is None:
                yield stream
                return
            # Every file with a known sha256 fits into memory, so one reading serves both.
            content = stream.read()
        if file.ignore_line_ends:
            content = _join_lines(content)
        _compare(file, path, hashlib.sha256(content).hexdigest())
        yield io.BytesIO(content)
