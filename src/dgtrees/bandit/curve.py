"""Curve: what a simulation showed, and its picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Curve"]


@dataclass(frozen=True)
class Curve:
    """What a simulation showed, one number per checkpoint.

    Attributes
    ----------
    queries
        Answered queries so far.
    progressive
        Mean loss of all actions so far, each taken before its answer was learnt; for 0-1 loss
        the share of right ones instead.
    held_out
        Accuracy (0-1 loss) or mean loss of `predict` on the held-out rows; empty without them.
    regret
        Loss so far less that of the reference on the same rows; empty without a reference.
    leaves
        Leaves that queries since the checkpoint before came to, each as the tree was when it
        decided; empty for other policies.
    classes
        The labels that stood for actions 0, 1, ..; empty where `y` held the actions or values.
    """

    queries: list[int] = field(default_factory=list)
    progressive: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    accuracy: bool = True
    classes: list[Any] = field(default_factory=list)

    def plot(self, ax: Any = None, label: str = "") -> Any:
        """Draw the curve into matplotlib axes, new ones by default, and return them."""
        from dgtrees.model.plot.canvas import new_axes

        ax = new_axes(7.5, 4.0, ax, layout="constrained")
        style: dict[str, Any] = {"marker": ".", "markersize": 5}
        name = f"{label}: " if label else ""
        (line,) = ax.plot(
            self.queries, self.held_out or self.progressive, **style,
            label=f"{name}{'held-out rows' if self.held_out else 'while learning'}",
        )  # fmt: skip
        if self.held_out:
            ax.plot(
                self.queries, self.progressive, **style, color=line.get_color(), alpha=0.5,
                linestyle="--", label=f"{name}while learning",
            )  # fmt: skip
        ax.set_xlabel("answered queries")
        ax.set_ylabel("accuracy" if self.accuracy else "mean loss")
        # Beside the axes: inside, it would hide curves wherever it stood.
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        ax.spines[["top", "right"]].set_visible(False)
        return ax
