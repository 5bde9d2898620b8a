"""What a model answers over two columns of its table."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.model.plot.canvas import GREY, class_colors, new_axes, tint
from dgtrees.tables.frames import columns_of, is_numeric

__all__ = ["plot_regions"]

_MARKERS = "osD^vPX*<>"


def plot_regions(
    model: Any,
    X: Any,
    y: Any,
    features: tuple[Any, Any] = (0, 1),
    *,
    resolution: int = 300,
    ax: Any = None,
) -> Any:
    """Draw where a model gives which answer, and the rows given on top.

    Parameters
    ----------
    model : classifier or regressor
        Anything fitted that has `predict`: other libraries' models can be drawn beside ours.
    X : array or pandas DataFrame of numbers, shape (rows, columns)
        Columns that are not drawn are held at their medians.
    y : array-like of shape (rows,)
        Classes or values of the rows, which colour the points.
    features : pair of int or str, default (0, 1)
        Columns to draw, by position or name.
    resolution : int, default 300
        Points of the grid in either direction.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    names, values = _numbers(X)
    across, up = (_column(names, feature) for feature in features)
    if across == up:
        raise ValueError(f"features must be two different columns, got {features!r}")
    y = np.asarray(y)
    if y.shape != (len(values),):
        raise ValueError(f"y must have the {len(values)} rows of X, got shape {y.shape}")
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}")
    classes = getattr(model, "classes_", None)
    edges = [_range(values[:, j], resolution) for j in (across, up)]
    grid = np.tile(np.median(values, axis=0), (resolution**2, 1))
    mesh = np.meshgrid(*edges)
    grid[:, across], grid[:, up] = mesh[0].ravel(), mesh[1].ravel()
    answers = np.asarray(model.predict(_like(X, grid)))
    if answers.ndim != 1:
        raise ValueError(f"model must predict one answer a row, got shape {answers.shape}")
    points = values[:, across], values[:, up]
    truth = y if classes is not None else y.astype(float)
    answers = answers.reshape(resolution, resolution)
    ax = new_axes(5.6, 4.4, ax, layout="constrained")
    if classes is not None:
        _draw_classes(ax, mesh, answers, points, truth, np.asarray(classes))
    else:
        _draw_values(ax, mesh, answers, points, truth)
    ax.set_xlabel(names[across], parse_math=False)
    ax.set_ylabel(names[up], parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    if len(names) > 2:
        rest = f"other {len(names) - 2} columns" if len(names) > 3 else "the other column"
        ax.set_title(f"{rest} at the median", fontsize=8, color=GREY, loc="right")
    return ax


def _numbers(X: Any) -> tuple[list[str], np.ndarray]:
    columns = columns_of(X)
    if len(columns) < 2:
        raise ValueError(f"X must have at least 2 columns, got {len(columns)}")
    for name, values in columns:
        if not is_numeric(values):
            raise ValueError(f"X must hold numbers, got text in column {name!r}: drop it")
    values = np.stack([values for _, values in columns], axis=1).astype(float)
    if not np.isfinite(values).all():
        raise ValueError("X must not have gaps here, got some: fill them in, or drop such rows")
    return [name for name, _ in columns], values


def _column(names: list[str], feature: Any) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"features must be columns of X, got {feature!r}: {', '.join(names)}")
        return names.index(feature)
    if not 0 <= int(feature) < len(names):
        raise ValueError(f"features must be 0 to {len(names) - 1}, got {feature!r}")
    return int(feature)


def _range(values: np.ndarray, resolution: int) -> np.ndarray:
    margin = 0.06 * (values.max() - values.min()) or 1.0
    return np.linspace(values.min() - margin, values.max() + margin, resolution)


def _like(X: Any, grid: np.ndarray) -> Any:
    """The grid under the names of X, which its model may ask for."""
    return type(X)(grid, columns=X.columns) if hasattr(X, "iloc") else grid


def _draw_classes(
    ax: Any, mesh: Any, answers: np.ndarray, points: Any, y: np.ndarray, classes: np.ndarray
) -> None:
    from matplotlib.colors import ListedColormap

    colors = class_colors(len(classes))
    numbers = np.searchsorted(classes, answers)
    ax.pcolormesh(
        *mesh,
        numbers,
        cmap=ListedColormap([tint(color, 0.35) for color in colors]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        shading="nearest",
        rasterized=True,
    )
    for k in range(len(classes) - 1):  # a line around every class
        ax.contour(*mesh, numbers == k, levels=[0.5], colors="white", linewidths=1.2)
    for k, label in enumerate(classes.tolist()):
        mine = y == label
        ax.scatter(
            points[0][mine],
            points[1][mine],
            s=22,
            marker=_MARKERS[k % len(_MARKERS)],
            color=colors[k],
            edgecolor="#333333",
            linewidth=0.5,
            label=str(label),
        )
    legend = ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for text in legend.get_texts():
        text.set_parse_math(False)


def _draw_values(ax: Any, mesh: Any, answers: np.ndarray, points: Any, y: np.ndarray) -> None:
    low, high = min(answers.min(), y.min()), max(answers.max(), y.max())
    look = {"cmap": "cividis", "vmin": low, "vmax": high}
    ax.pcolormesh(*mesh, answers, shading="nearest", rasterized=True, **look)
    shown = ax.scatter(*points, c=y, s=22, edgecolor="white", linewidth=0.6, **look)
    ax.figure.colorbar(shown, ax=ax, label="value: areas predicted, points true")
