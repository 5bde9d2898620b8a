"""The drawn tree's canvas: boxes, the branches between them, and notes around.

Everything is placed in inches of a figure that has room for it; in axes of another size the
drawing is scaled as a whole, text included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgtrees.model.plot.canvas import GREY, NO, YES, blank_axes, fitted, tint
from dgtrees.model.plot.places import Place
from dgtrees.model.text import count_leaves
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import position

__all__ = ["TOP", "Drawing"]

TOP = 0.42
"""Inches above the first line, for headings."""

_LEFT, _LINE, _GAP = 0.04, 0.128, 0.24


class Drawing:
    """The axes, in inches of a figure that has room for everything, and what is drawn there."""

    def __init__(
        self, tree: ObliqueTree, places: list[Place], rows: Any, legend: bool, ax: Any
    ) -> None:
        self.tree, self.places = tree, places
        counts = np.ones(tree.n_leaves) if rows is None else np.asarray(rows, dtype=float)
        self.counted, self.at_leaf = rows is not None, counts
        self.mass = np.concatenate(tree.totals(counts))
        lines = sum(not place.is_box for place in places)
        self.levels = max(place.depth for place in places)
        small = self.levels <= 3
        self.line_height = max(0.17, min(0.34, 4.0 / lines))
        self.width = 7.5 if small else 9.0
        self.leaf_width = 2.4
        table_end = TOP + lines * self.line_height
        self.legend_y = table_end + 0.17
        self.cut_y = self.legend_y + (0.16 if legend else 0.0)
        below = self.cut_y if self._left_out() else self.legend_y * legend
        self.height = max(below, table_end) + 0.1
        room = self.width - self.leaf_width - _LEFT
        self.box_width = max(0.85, min(2.0, room / max(self.levels, 1) - _GAP))
        self.leaf_left = _LEFT + self.levels * (self.box_width + _GAP)
        self.width = self.leaf_left + self.leaf_width
        self.ax = blank_axes(self.width, self.height, ax)
        self.ax.set(xlim=(0, self.width), ylim=(self.height, 0))
        shown = self.ax.get_window_extent().transformed(self.ax.figure.dpi_scale_trans.inverted())
        self.zoom = min(shown.width / self.width, shown.height / self.height)
        self.font = 7.5 if small else 7.0

    def y(self, place: Place) -> float:
        """Height of the middle of a place, from the top."""
        return TOP + place.middle * self.line_height

    def left(self, place: Place) -> float:
        """Where a place begins."""
        if not place.is_box:
            return self.leaf_left
        return _LEFT + place.depth * (self.box_width + _GAP)

    def text(self, x: float, y: float, text: str, *, size: float = 1.0, **options: Any) -> None:
        """Write; `size` is relative to the drawing's own."""
        style = {"va": "center", "fontsize": self.font * size * self.zoom, "parse_math": False}
        self.ax.text(x, y, text, **(style | options))

    def fit(self, text: str, width: float) -> str:
        """As much of a text as has room."""
        return fitted(text, width, self.font)

    def edges(self) -> None:
        """Branches, each as wide as its share of all rows."""
        for place in self.places:
            if place.above < 0:
                continue
            parent = self.places[place.above]
            share = self.mass[position(place.child, self.tree.n_nodes)] / max(self.mass[0], 1e-300)
            start, end = self.left(parent) + self.box_width, self.left(place)
            bend = start + _GAP  # long branches run straight along their own line
            self.ax.plot(
                *_curve(start, self.y(parent), bend, self.y(place), end),
                color=YES if place.yes else NO,
                lw=(0.6 + 6.0 * share) * self.zoom,
                ls=(0, (1.5, 1.5)) if share == 0 else "-",
                alpha=0.75,
                solid_capstyle="butt",
                zorder=0,
            )

    def box(self, place: Place, weights: np.ndarray, names: Sequence[str], count: int) -> None:
        """One decision: a line a column, with a bar behind its name."""
        from matplotlib.patches import Rectangle

        room = (place.stop - place.first) * self.line_height - 0.03
        count = max(1, min(count, int((room - 0.03) / _LINE)))
        largest = np.argsort(-np.abs(weights), kind="stable")[:count]
        order = [j for j in largest.tolist() if weights[j] != 0]
        height = max(len(order), 1) * _LINE + 0.03
        x, y = self.left(place), self.y(place) - height / 2
        frame = {"facecolor": "white", "edgecolor": GREY, "lw": 0.7 * self.zoom}
        self.ax.add_patch(
            Rectangle((x, y), self.box_width, height, gid=f"node {place.child}", **frame)
        )
        identity = str(place.child)
        beside = 0.05 + 0.062 * len(identity)
        self.text(
            x + self.box_width - 0.03, y + 0.015 + _LINE / 2, identity, size=0.8,
            color=GREY, ha="right", gid="number",
        )  # fmt: skip
        if not order:
            self.text(x + 0.04, y + 0.015 + _LINE / 2, "always the same", size=0.9, color=GREY)
        for line, j in enumerate(order):
            share = abs(weights[j]) / abs(weights[order[0]])
            top = y + 0.015 + line * _LINE
            width = (self.box_width - beside - 0.06) * share
            color = tint(YES if weights[j] > 0 else NO, 0.38)
            self.ax.add_patch(
                Rectangle((x + 0.03, top + 0.008), width, _LINE - 0.016, facecolor=color, lw=0)
            )
            name = self.fit(str(names[j]), self.box_width - 0.06 - (0 if line else beside))
            self.text(x + 0.045, top + _LINE / 2, name, gid="feature")

    def notes(self) -> None:
        """How to read it, above; what was left out, below."""
        if any(place.is_box for place in self.places):
            y = 0.09
            self.text(_LEFT, y, "yes", color=YES, weight="bold")
            self.text(0.28, y, "weighted sum ≥ 0", color=GREY)
            self.text(_LEFT, y + 0.14, "no", color=NO, weight="bold")
            self.text(0.28, y + 0.14, "weighted sum < 0", color=GREY)
        if said := self._left_out():
            self.text(_LEFT, self.cut_y, "; ".join(said), color=GREY, gid="cut")

    def _left_out(self) -> list[str]:
        """What is not drawn: below the last level, and where no row has come."""
        said = []
        cut = [place for place in self.places if place.cut]
        below = sum(count_leaves(self.tree, place.child) for place in cut)
        if cut:
            said.append(
                f"cut at depth {cut[0].depth} of {self.tree.depth}: {below} leaves below are "
                f"drawn as {len(cut)} lines"
            )
        shown = below + sum(place.child < 0 for place in self.places)
        if shown < self.tree.n_leaves:
            said.append(
                f"leaves that no training row reaches, not drawn: {self.tree.n_leaves - shown}"
            )
        return said


def _curve(
    start: float, top: float, bend: float, bottom: float, end: float
) -> tuple[np.ndarray, np.ndarray]:
    """A branch: a smooth S from the box to the bend, then straight on."""
    t = np.linspace(0, 1, 20)
    smooth = t * t * (3 - 2 * t)
    return (
        np.append(start + t * (bend - start), end),
        np.append(top + smooth * (bottom - top), bottom),
    )
