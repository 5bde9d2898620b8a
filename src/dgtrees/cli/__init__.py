"""`dgt`: thin commands over the library. Only here is anything printed and are exit codes set.

A command parses its options, calls the library and reports. Bad input ends in one line on
standard error and exit code 2.
"""

from __future__ import annotations

from dgtrees.cli.app import app, main

__all__ = ["app", "main"]
