"""What notebooks show of models, explanations and decisions: small pieces of HTML.

They have no styles, scripts or outside resources; whatever comes from a table is escaped.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from dgtrees.model.model import Model
from dgtrees.model.rules import export_text
from dgtrees.model.summary import summary_lines

__all__ = ["html_table", "model_html"]

_DEPTH = 4
"""Levels of decisions drawn."""


def model_html(model: Model) -> str:
    """A model's summary and, of one tree, its upper levels: drawn, or rules without matplotlib."""
    title, *more = (escape(line) for line in summary_lines(model))
    text = f"<p><b>{title}</b><br>{'<br>'.join(more)}</p>"
    if not model.alone:
        return text
    drawn = _picture(model) if model.forest.trees[0].n_nodes else None  # one leaf is all text
    return text + (drawn or f"<pre>{escape(export_text(model, max_depth=_DEPTH))}</pre>")


def html_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; cells are shown as `str` has them.

    >>> html_table(["action", "probability"], [("a<b", 0.5)])
    '<table><thead><tr><th>action</th><th>probability</th></tr></thead><tbody><tr><td>a&lt;b</td><td>0.5</td></tr></tbody></table>'
    """
    cells = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _picture(model: Model) -> str | None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    from dgtrees.model.plot.tree import plot_tree

    figure = plot_tree(model, max_depth=_DEPTH).figure
    plt.close(figure)  # or the notebook shows it once more
    content = io.StringIO()
    figure.savefig(content, format="svg")
    text = content.getvalue()
    return text[text.index("<svg") :]  # without the XML prolog
