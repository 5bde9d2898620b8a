"""`dgt`: thin commands over the library. Only here is anything printed and are exit codes set.

A command parses its options, calls the library and reports. Bad input ends in a line a problem on
standard error and exit code 2.

This module imports next to nothing: the commands and what they need are imported by `main`, when
Ctrl-C is already taken care of.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `dgt` and leave with its exit code: 0, 2 for bad input, 130 when interrupted."""
    try:
        found = signal.getsignal(signal.SIGINT)
        usual = found is signal.default_int_handler  # not so where a shell has us ignore it
        if usual:
            # Nothing has to be put away yet; and an import may swallow a KeyboardInterrupt.
            signal.signal(signal.SIGINT, _leave)
        from dgtrees.cli import app

        if usual:
            signal.signal(signal.SIGINT, found)
        app.main(arguments)
    except KeyboardInterrupt:
        _leave()


def _leave(*_: object) -> None:
    """End here and now, as interrupted."""
    with suppress(OSError):  # a closed standard error
        os.write(2, b"dgt: interrupted\n")
    os._exit(130)
