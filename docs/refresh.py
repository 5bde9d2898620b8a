"""Run the Python blocks of pages and put what they print into the text block that follows.

    python docs/refresh.py docs/quickstart.md README.md

Pictures that a block saves are kept in docs/images under the page's name.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?P<after>\n\n```text\n.*?```)?", re.DOTALL)


def refresh(page: Path) -> None:
    """Rewrite one page in place."""
    namespace: dict[str, object] = {}

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match["code"], page.name, "exec"), namespace)
        block = f"```python\n{match['code']}```"
        if printed.getvalue().strip():
            block += f"\n\n```text\n{printed.getvalue().strip()}\n```"
        return block

    images = Path(__file__).parent / "images"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = BLOCK.sub(run, page.read_text())
        for picture in Path(folder).glob("*.png"):
            images.mkdir(exist_ok=True)
            shutil.copy(picture, images / f"{page.stem}-{picture.name}")
    page.write_text(text)


if __name__ == "__main__":
    mpl.use("Agg")
    os.environ.setdefault("COLUMNS", "100")
    for name in sys.argv[1:]:
        refresh(Path(name).resolve())
