"""Files that appear whole or not at all: the one way in which the library writes them.

The content goes to a new file in the same folder, which has no name yet where the system knows
such files (Linux), reaches the disk, and takes the target's place in one step. A process that is
killed leaves nothing behind; where files must have names, a `.part` file, which the next save of
the same target removes because nobody holds its lock any more.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import IO, Any, NamedTuple

from dgtrees.errors import DataError, DGTreesError

try:
    import fcntl
except ImportError:  # Windows: leftovers cannot be told from files in use, and stay
    fcntl = None  # type: ignore[assignment]

__all__ = ["check_target", "whole_file"]

_NAMELESS = getattr(os, "O_TMPFILE", None)
_LONGEST_NAME = 200  # bytes of a target's name within a temporary one; systems allow 255 in all
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


class _Target(NamedTuple):
    """Where the content goes: the file that links lead to, and what is there now."""

    path: str
    now: os.stat_result | None
    straight: bool  # a device, a pipe, an open file: written into, for it cannot be replaced


def check_target(path: str | os.PathLike[str], error: type[DGTreesError] = DataError) -> None:
    """Refuse, before any work is done, a path that nothing can be written to."""
    with _explained(path, error):
        _target(path)


@contextmanager
def whole_file(
    path: str | os.PathLike[str], *, text: bool = False, error: type[DGTreesError] = DataError
) -> Iterator[IO[Any]]:
    """A stream to a file that is complete or, if the block raises, as it was before.

    Links are followed. A new file has the mode that the umask leaves, an old one keeps its own.
    Devices, pipes and open files such as /dev/stdout are written into. What the system refuses is
    raised as `error`, one line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/a.txt", text=True) as stream:
    ...         print("whole", file=stream)
    ...     pathlib.Path(folder, "a.txt").read_text()
    'whole\\n'
    """
    with _explained(path, error):
        target = _target(path)
        if target.straight:
            handle = os.open(target.path, os.O_WRONLY | os.O_APPEND)
        else:
            _remove_leftovers(target.path)
            name = _temporary_name(target.path)
            handle, named = _temporary(target, name)
    raw = _File(handle, path, error)
    stream: Any = io.BufferedWriter(raw)
    if text:
        stream = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    try:
        yield stream
        stream.flush()
        if not target.straight:
            with _explained(path, error):
                _publish(handle, target, name, named)
    finally:
        with suppress(OSError, DGTreesError):  # what could not be written cannot be flushed either
            stream.close()
        raw.close()
        if not target.straight:
            with suppress(OSError):  # gone, if all went well
                os.unlink(name)


class _File(io.FileIO):
    """An open file whose failed writes say what to do."""

    def __init__(
        self, handle: int, path: str | os.PathLike[str], error: type[DGTreesError]
    ) -> None:
        super().__init__(handle, "wb")
        self._said = path, error

    def write(self, data: Any) -> int:
        """See `io.FileIO`."""
        with _explained(*self._said):
            return super().write(data)


@contextmanager
def _explained(path: str | os.PathLike[str], kind: type[DGTreesError]) -> Iterator[None]:
    """What the system refuses, as one line with the next step."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads any more: no fault of the path
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise kind(f"{os.fsdecode(path)!s}: {_advice(path, error)}") from error


def _advice(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    code = getattr(error, "errno", None)
    said = getattr(error, "strerror", None) or str(error)
    if code in (errno.ENOENT, errno.ENOTDIR):
        folder = os.path.dirname(os.path.realpath(path))
        shown = folder if os.path.islink(path) else os.path.dirname(os.fsdecode(path)) or folder
        return f"there is no folder {shown}: create it first"
    if code == errno.EISDIR:
        return "must be a file, and is a folder: add a file name"
    if code == errno.ELOOP:
        return "must be a file, and is a link that leads back to itself: remove it"
    if code in _FULL:
        return f"must fit on its disk, and does not ({said}): make room, or choose another folder"
    if code in _REFUSED:
        return f"cannot be written ({said}): check its permissions and those of its folder"
    return f"cannot be written ({said}): check the path"


def _target(path: str | os.PathLike[str]) -> _Target:
    """What a path leads to; raises OSError where nothing can be written there."""
    given = os.fsdecode(path) or "."
    try:
        now = os.stat(given)
    except FileNotFoundError:
        now = None  # nothing, or a link to nothing
    if now is not None and stat.S_ISDIR(now.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    allowed = now is None or os.access(given, os.W_OK)
    straight = now is not None and (not stat.S_ISREG(now.st_mode) or _is_open_file(given))
    real = given if straight else os.path.realpath(given)
    if not straight:  # the folder counts too: in it, another file takes the place
        if not os.path.isdir(folder := os.path.dirname(real)):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        allowed = allowed and os.access(folder, os.W_OK | os.X_OK)
    if not allowed:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return _Target(real, now, straight)


def _is_open_file(path: str) -> bool:
    """Whether a path is an open file of a process, such as /dev/stdout or /dev/fd/3."""
    for _ in range(40):  # as many links as Linux follows
        folder = os.path.realpath(os.path.dirname(path))
        if f"{folder}/".startswith(("/proc/", "/dev/fd/")):
            return True
        if not os.path.islink(path):
            return False
        path = os.path.join(folder, os.readlink(path))
    return False


def _temporary(target: _Target, name: str) -> tuple[int, bool]:
    """A new file beside the target, open and locked, and whether it had to be given its name."""
    mode = 0o666 if target.now is None else stat.S_IMODE(target.now.st_mode)
    if _NAMELESS is not None:
        with suppress(OSError):  # a file system without such files
            handle = os.open(os.path.dirname(target.path), _NAMELESS | os.O_RDWR, mode)
            _lock(handle)
            _take_over(handle, target)
            return handle, False
    return _open_named(target, name, mode), True


def _open_named(target: _Target, name: str, mode: int) -> int:
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            _take_over(handle, target)
            return handle
        os.close(handle)  # another save of this target was quicker, and took it for a leftover


def _lock(handle: int) -> None:
    """Hold a file's lock for as long as it is open."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)


def _take_over(handle: int, target: _Target) -> None:
    """Give a new file the owner and the mode of the one it replaces."""
    if target.now is not None:
        with suppress(OSError):  # only root gives files away
            os.fchown(handle, target.now.st_uid, target.now.st_gid)
        with suppress(OSError):  # a file system without modes
            os.fchmod(handle, stat.S_IMODE(target.now.st_mode))


def _publish(handle: int, target: _Target, name: str, named: bool) -> None:
    """Put a finished file in the target's place."""
    os.fsync(handle)
    if named or _linked(handle, name):
        os.replace(name, target.path)
    else:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        copy = _open_named(target, name, mode)
        with open(handle, "rb", closefd=False) as source, open(copy, "wb") as sink:
            source.seek(0)
            shutil.copyfileobj(source, sink)
            sink.flush()
            os.fsync(copy)
            os.replace(name, target.path)
    _sync_folder(target.path)


def _linked(handle: int, name: str) -> bool:
    """Whether a nameless file could be given a name: not without /proc, nor on every system."""
    with suppress(OSError):
        # src_dir_fd says nothing here, but makes Python follow the link in /proc.
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)
        return True
    return False


def _temporary_name(target: str) -> str:
    return f"{_beginning(target)}{secrets.token_hex(6)}.part"


def _beginning(target: str) -> str:
    """What the names of all temporary files of a target begin with."""
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = sha256(os.fsencode(name)).hexdigest()
    return os.path.join(folder, f".{name}.")


def _remove_leftovers(target: str) -> None:
    """Remove temporary files of this target whose process has ended without a word."""
    if fcntl is None:
        return
    folder, beginning = os.path.split(_beginning(target))
    kept = re.compile(re.escape(beginning) + r"[0-9a-f]{12}\.part")
    with suppress(OSError):  # a folder that may be written to and not be read
        names = [name for name in os.listdir(folder) if kept.fullmatch(name)]
        for name in names:
            path = os.path.join(folder, name)
            with suppress(OSError):  # in use, or somebody else's
                handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(path)
                finally:
                    os.close(handle)


def _sync_folder(target: str) -> None:
    """Make a file's new name reach the disk, where the system does that."""
    with suppress(OSError):
        handle = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
