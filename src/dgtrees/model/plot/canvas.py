"""What all pictures share: axes to draw into, colours, and text that fits.

Colours are told apart by readers with any colour vision (Okabe and Ito's for two sides, Tol's
"muted" for classes).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = [
    "GREY",
    "LINES",
    "NO",
    "YES",
    "blank_axes",
    "class_colors",
    "fitted",
    "new_axes",
    "tint",
]

YES, NO, GREY = "#0072B2", "#D55E00", "#8a8a8a"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d")
_CLASSES = (
    "#44AA99", "#AA4499", "#DDCC77", "#332288", "#CC6677",
    "#117733", "#88CCEE", "#882255", "#999933", "#BBBBBB",
)  # fmt: skip


def new_axes(width: float, height: float, ax: Any = None, **options: Any) -> Any:
    """The axes given, or those of a new figure of so many inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'dgtrees[plot]'") from error
    return plt.subplots(figsize=(width, height), **options)[1]


def blank_axes(width: float, height: float, ax: Any = None) -> Any:
    """`new_axes` without frame and margins, for drawings that have no scales."""
    drawn = new_axes(width, height, ax)
    if ax is None:
        drawn.set_position((0, 0, 1, 1))
    drawn.set_axis_off()
    return drawn


def class_colors(count: int) -> list[str]:
    """A colour a class; beyond ten classes they come again."""
    return [_CLASSES[k % len(_CLASSES)] for k in range(count)]


def tint(color: str, strength: float) -> tuple[float, float, float]:
    """A colour mixed with white; strength 1 leaves it as it is."""
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (1 - strength * (1 - part) for part in parts)
    return red, green, blue


def fitted(text: str, width: float, size: float) -> str:
    """The text, or as much of its two ends as fits into so many inches at this font size.

    Names of columns and classes often differ at their ends only.
    """
    if _inches(text, size) <= width:
        return text

    def cut(kept: int) -> str:
        tail = kept * 2 // 5
        return f"{text[: kept - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"

    fits, too_long = 1, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if _inches(cut(middle), size) <= width:
            fits = middle
        else:
            too_long = middle
    return cut(fits)


@lru_cache(maxsize=10_000)
def _inches(text: str, size: float) -> float:
    """Width of a text in the font that pictures are written in."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(size=size)))
    font.set_size(size, 72)
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64 / 72
