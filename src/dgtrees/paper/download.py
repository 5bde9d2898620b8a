"""One address to one verified file: whole and checked under its final name, or not there at all."""

from __future__ import annotations

import contextlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path

from dgtrees.errors import DataError
from dgtrees.paper.archives import DataFile, verify_file

__all__ = ["Progress", "download"]

Progress = Callable[[int, int | None], object]
"""Called with the bytes received so far and, where the server says it, the bytes in all."""

_CHUNK = 1 << 18
_TIMEOUT = 60.0


def download(
    url: str, target: Path, files: Iterable[DataFile], progress: Progress | None = None
) -> None:
    """Download `url`, verify the files it holds, and only then store it as `target`.

    Raises
    ------
    DataError
        If the server cannot be reached, sends less than it announced, or sends other content;
        nothing is left under the name `target` then.
    """
    # The ending stays the last part of the name: it says how the content is packed.
    partial = target.with_name(f".part-{os.getpid()}-{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb"):
            pass
    except OSError as error:
        raise DataError(
            f"{target.parent} must be a folder that can be written to, got {error.strerror}: "
            "set DGTREES_DATA to a folder of your own"
        ) from error
    try:
        _receive(url, partial, target, progress)
        for file in files:
            verify_file(file, partial)
        os.replace(partial, target)
    except DataError as error:
        # The message names the partial file, which is gone when it is read.
        raise DataError(str(error).replace(str(partial), str(target))) from error
    finally:
        partial.unlink(missing_ok=True)


def _receive(url: str, partial: Path, target: Path, progress: Progress | None) -> None:
    by_hand = f"try again later, or download it by hand and save it as {target}"
    request = urllib.request.Request(url, headers={"User-Agent": "dgtrees"})
    try:
        with (
            urllib.request.urlopen(request, timeout=_TIMEOUT) as answer,
            partial.open("wb") as stream,
        ):
            length = answer.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            while chunk := answer.read(_CHUNK):
                stream.write(chunk)
                done += len(chunk)
                if progress:
                    progress(done, total)
    except (OSError, http.client.HTTPException) as error:
        with contextlib.ExitStack() as stack:
            if isinstance(error, urllib.error.HTTPError):
                stack.enter_context(error)
            reason = f"{getattr(error, 'reason', None) or error or type(error).__name__}"
            code = f"{error.code} " if isinstance(error, urllib.error.HTTPError) else ""
        raise DataError(f"could not download {url} ({code}{reason}): {by_hand}") from error
    if total is not None and done != total:
        raise DataError(f"could not download {url} (got {done} of {total} bytes): {by_hand}")
