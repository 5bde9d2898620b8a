"""Data sets that tests look for or write."""

import dataclasses
from pathlib import Path

import pytest

from conftest import DATA
from dgtrees.paper.catalog import CATALOG, status

MIRROR = Path(DATA).resolve()


def need(name):
    if not status(name, MIRROR).present:
        pytest.skip(f"{name} is not in {MIRROR}: set DGTREES_DATA to a folder that has it")


def shrink(monkeypatch, name, **changes):
    """Let the catalogue expect the few rows that a test writes."""
    monkeypatch.setitem(CATALOG, name, dataclasses.replace(CATALOG[name], **changes))
