"""The table of leaves at the right of a drawn tree: one line for every leaf, and for every cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from dgtrees.model.model import Model
from dgtrees.model.plot.canvas import GREY, class_colors
from dgtrees.model.plot.drawing import TOP, Drawing
from dgtrees.model.plot.places import Place
from dgtrees.model.text import count_leaves, short_number
from dgtrees.tree.leaf import outputs_at
from dgtrees.tree.topology import means_below, position

__all__ = ["LeafTable"]

# Inches.
_BAR, _LEAF, _ROWS = 0.64, 0.26, 0.4


class LeafTable:
    """The table at the right: a line for every leaf, and for every cut."""

    def __init__(
        self, drawing: Drawing, seen: Model, classes: list[str] | None, filled: bool
    ) -> None:
        self.drawing, self.filled, self.names = drawing, filled, classes
        tree = drawing.tree
        self.at = ""
        self.words = seen.leaf_words(short=True)
        outputs = outputs_at(tree, seen.typical)
        if tree.linear:
            where = "x = 0" if seen.typical is None else "the typical row"
            self.at = f"linear leaves, at {where}:"
        if self.names is not None:
            outputs = softmax(outputs, axis=1)
        self.outputs = means_below(tree, drawing.at_leaf, outputs)
        self.left = drawing.leaf_left + 0.04

    def draw(self) -> None:
        """All lines, with what they mean above."""
        drawing = self.drawing
        heading = TOP - 0.08
        said = "value" if self.names is None else "class"
        said = said if self.words is None else "cluster"
        grey: dict[str, Any] = {"color": GREY, "va": "bottom"}
        drawing.text(self._text_left, heading, said, **grey)
        drawing.text(self.left, heading - 0.16, self.at, **grey)
        drawing.text(self._number_right, heading, "leaf", ha="right", **grey)
        if drawing.counted:
            drawing.text(drawing.width - 0.02, heading, "rows", ha="right", **grey)
        for place in drawing.places:
            if not place.is_box:
                self._line(place)
        if self.names is not None and self.filled:
            self._legend(self.names)

    @property
    def _text_left(self) -> float:
        return self.left + (_BAR + 0.06 if self._has_bars else 0.02)

    @property
    def _number_right(self) -> float:
        return self.drawing.width - (_ROWS if self.drawing.counted else 0.02)

    @property
    def _has_bars(self) -> bool:
        valued = self.outputs.shape[1] == 1 and self.words is None
        return self.filled and (self.names is not None or valued)

    def _line(self, place: Place) -> None:
        drawing = self.drawing
        index = position(place.child, drawing.tree.n_nodes)
        y = drawing.y(place)
        if self._has_bars:
            self._bar(self.outputs[index], y, place)
        end = self._number_right - _LEAF
        text = self._said(self.outputs[index])
        if self.words is not None:  # the mean of several numbers is none
            text = "" if place.cut else self.words[~place.child]
        if place.cut:
            text = f"{text}, {count_leaves(drawing.tree, place.child)} leaves".removeprefix(", ")
            end += _LEAF
        gid = f"cut {place.child}" if place.cut else f"leaf {~place.child}"
        style: dict[str, Any] = {"style": "italic"} if place.cut else {}
        drawing.text(
            self._text_left, y, drawing.fit(text, end - self._text_left - 0.03), gid=gid, **style
        )
        grey: dict[str, Any] = {"color": GREY, "ha": "right"}
        if not place.cut:
            drawing.text(self._number_right, y, str(~place.child), size=0.9, gid="number", **grey)
        if drawing.counted:
            rows = f"{drawing.mass[index]:,.0f}"
            drawing.text(drawing.width - 0.02, y, rows, gid="rows", **grey)

    def _said(self, output: np.ndarray) -> str:
        if self.names is None:
            return ", ".join(short_number(value) for value in output)
        best = int(output.argmax())
        return f"{output[best]:.0%} {self.names[best]}"

    def _bar(self, output: np.ndarray, y: float, place: Place) -> None:
        """Shares of the classes side by side, or a value between the least and the greatest."""
        from matplotlib.patches import Rectangle

        tall = min(self.drawing.line_height - 0.05, 0.16)
        if self.names is None:
            shown = self.outputs
            low, high = float(shown.min()), float(shown.max())
            share = (float(output[0]) - low) / (high - low) if high > low else 1.0
            parts = [(0.04 + 0.96 * share, "#666666")]
        else:
            parts = list(zip(output.tolist(), class_colors(len(output)), strict=True))
        x = self.left
        for share, color in parts:
            self.drawing.ax.add_patch(
                Rectangle((x, y - tall / 2), _BAR * share, tall, facecolor=color, lw=0)
            )
            x += _BAR * share

    def _legend(self, names: list[str]) -> None:
        """Colours of the classes, in one line below, as many as fit."""
        from matplotlib.patches import Rectangle

        drawing = self.drawing
        x, y = 0.04, drawing.legend_y
        for name, color in zip(names, class_colors(len(names)), strict=True):
            shown = drawing.fit(name, 1.6)
            wide = 0.16 + 0.068 * len(shown) + 0.12
            if x + wide > drawing.width:
                drawing.text(x, y, "…", color=GREY)
                return
            drawing.ax.add_patch(Rectangle((x, y - 0.05), 0.1, 0.1, facecolor=color, lw=0))
            drawing.text(x + 0.14, y, shown, gid="legend")
            x += wide
