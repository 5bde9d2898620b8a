"""Run the notebooks of examples/ without Jupyter: `python -m docs.notebooks` stores their outputs.

Cells are executed in order in one namespace. What they print, the value of a last expression (as
text, and as HTML where it has that) and the figures they leave open become their outputs. A
figure's text says what it states, so that the tests can compare it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from docs.pages import ROOT, figure_statement

__all__ = ["notebooks", "outputs", "read", "said"]


def notebooks() -> list[Path]:
    """All of them."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    """A notebook's JSON."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def outputs(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What the code cells give now, cell by cell; files go to the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with mpl.rc_context():
        mpl.use("Agg")
        plt.close("all")  # what somebody else has left open is no output of ours
        codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        return [_run("".join(cell["source"]), namespace, n) for n, cell in enumerate(codes, 1)]


def _run(code: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    found = []
    if printed.getvalue():
        found.append(
            {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
        )
    if value is not None and not code.rstrip().endswith(";"):
        found.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": _data(value),
            }
        )
    for count in plt.get_fignums():
        found.append({"output_type": "display_data", "metadata": {}, "data": _picture(count)})
    plt.close("all")
    return found


def _data(value: Any) -> dict[str, list[str]]:
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    return data


def _picture(number: int) -> dict[str, Any]:
    figure, content = plt.figure(number), io.BytesIO()
    figure.savefig(content, format="png", dpi=80)
    image = base64.b64encode(content.getvalue()).decode()
    return {"text/plain": _lines(figure_statement(figure)), "image/png": image}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def said(found: list[dict[str, Any]]) -> str:
    """The text of a cell's outputs."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in found]
    return "\n".join("".join(lines).rstrip() for lines in texts)


def main() -> None:
    """Store what the cells give now."""
    for path in notebooks():
        notebook = read(path)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            fresh = outputs(notebook)
        codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, (cell, found) in enumerate(zip(codes, fresh, strict=True), 1):
            cell.update(outputs=found, execution_count=number)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: {len(codes)} cells, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
