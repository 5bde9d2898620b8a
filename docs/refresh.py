"""Bring pages and their pictures up to date: `python -m docs.refresh [PAGE ...]`, all by default.

The examples are run as docs/pages.py says. Seconds on a page stay as they are if nothing else has
changed on their line, and so do pictures that already state what they should. What a picture states
is kept in it, for the tests.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from docs.pages import (
    ARITHMETIC,
    arithmetic,
    differences,
    fresh,
    pages,
    picture,
    statement_of,
    without_seconds,
)
from PIL import Image
from PIL.PngImagePlugin import PngInfo

LARGEST = 150_000
"""Bytes a picture may have, so that its page loads quickly."""


def refresh(page: Path) -> bool:
    """Rewrite a page and its pictures where they differ from what the examples give now."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text, stated = fresh(page)
        old = [name for name in stated if not stated_alike(picture(page, name), stated[name])]
        for name in old:
            keep(Path(name), picture(page, name), stated[name])
    said = page.read_text()
    changed = differences(said, text)
    page.write_text(with_old_seconds(said, text))
    print(f"{page.name}: {', '.join([*old, *changed[:1]]) or 'up to date'}", flush=True)
    return bool(old or changed)


def stated_alike(path: Path, statement: str) -> bool:
    """Whether a picture is there and states that already."""
    return path.exists() and not differences(statement_of(path), statement)


def with_old_seconds(said: str, found: str) -> str:
    """What was found, in lines that were there already as long as only seconds differ."""
    old = {without_seconds(line): line for line in said.split("\n")}
    return "\n".join(old.get(without_seconds(line), line) for line in found.split("\n"))


def keep(saved: Path, target: Path, statement: str) -> None:
    """Store a picture in 256 colours, which all of them can do with, and what it states."""
    image = Image.open(saved).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    info = PngInfo()
    info.add_itxt("Description", statement)
    target.parent.mkdir(exist_ok=True)
    image.save(target, optimize=True, pnginfo=info)
    size = target.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{target.name} must have at most {LARGEST:,} bytes, got {size:,}")


def main(names: list[str]) -> None:
    """Refresh pages, and note under which arithmetics they are as they are."""
    mine, known = arithmetic(), ARITHMETIC.read_text().split() if ARITHMETIC.exists() else []
    if names and mine not in known:
        raise SystemExit("this machine rounds in its own way, so refresh all pages: name none")
    chosen = [Path(name).resolve() for name in names] or pages()
    if sum(refresh(page) for page in chosen):
        known = []
    ARITHMETIC.write_text("\n".join(dict.fromkeys([*known, mine])) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
