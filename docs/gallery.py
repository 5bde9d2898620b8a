"""Draw the gallery: run the examples of docs/gallery.md and keep their pictures in docs/gallery.

Every block is run in the order of the page, in one namespace, with fixed seeds: the same versions
of the packages draw the same pictures. A block whose data set is not there is left out, and its
picture stays as it is.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

from dgtrees.errors import DataError

HERE = Path(__file__).resolve().parent
LARGEST = 150_000
"""Bytes a picture may have, so that the page loads quickly."""


def draw(page: Path, pictures: Path) -> None:
    """Run the blocks of a page and move what they saved."""
    namespace: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            named = re.findall(r'savefig\("([\w-]+)\.png"', code)
            try:
                exec(compile(code, page.name, "exec"), namespace)
            except DataError as error:
                print(f"left out {', '.join(named)}: {error}")
                continue
            plt.close("all")
            for name in named:
                keep(Path(f"{name}.png"), pictures / f"{name}.png")


def keep(picture: Path, target: Path) -> None:
    """Store a picture in 256 colours, which all of them can do with."""
    image = Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(target, optimize=True)
    size = target.stat().st_size
    print(f"{target.name}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{target.name} must have at most {LARGEST:,} bytes, got {size:,}")


if __name__ == "__main__":
    mpl.use("Agg")
    target = HERE / "gallery"
    target.mkdir(exist_ok=True)
    draw(HERE / "gallery.md", target)
