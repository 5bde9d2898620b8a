"""Where the parts of a drawn tree go: a column a level of decisions, a line a leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import position

__all__ = ["Place", "place_all"]


@dataclass(frozen=True)
class Place:
    """A node, a leaf, or a node at which the drawing is cut (then it stands where a leaf would).

    `child` is its pointer: a node's number or ``~leaf``; `yes` says on which side of the decision
    `above` it is. It owns the lines from `first` up to
    `stop`, and nothing else is ever drawn there in its column: boxes cannot overlap.
    """

    child: int
    depth: int
    first: int
    stop: int
    above: int
    yes: bool
    cut: bool

    @property
    def is_box(self) -> bool:
        """Whether it is drawn as a decision."""
        return self.child >= 0 and not self.cut

    @property
    def middle(self) -> float:
        """Its height, in lines from the top."""
        return (self.first + self.stop) / 2


def place_all(tree: ObliqueTree, max_depth: int, reached: np.ndarray | None = None) -> list[Place]:
    """Places of all that is drawn, parents first; no above yes.

    Where it is known which nodes and leaves rows have `reached` (by `position`), all others are
    left out, and so are decisions of which one side is.
    """
    places: list[Place] = []

    def drawn(child: int) -> int:
        """What stands for a child: the first below it at which rows go both ways, or a leaf."""
        while child >= 0 and reached is not None:
            sides = [side for side in (tree.left[child], tree.right[child]) if is_reached(side)]
            if len(sides) != 1:
                break
            child = int(sides[0])
        return child

    def is_reached(child: int) -> bool:
        return reached is None or bool(reached[position(int(child), tree.n_nodes)])

    def put(child: int, depth: int, first: int, above: int, yes: bool) -> int:
        if not is_reached(child):
            return first
        child = drawn(child)
        cut = child >= 0 and depth >= max_depth
        index = len(places)
        places.append(Place(child, depth, first, first + 1, above, yes, cut))
        if child < 0 or cut:
            return first + 1
        stop = put(int(tree.left[child]), depth + 1, first, index, False)
        stop = put(int(tree.right[child]), depth + 1, stop, index, True)
        places[index] = Place(child, depth, first, stop, above, yes, cut)
        return stop

    put(0 if tree.n_nodes else ~0, 0, 0, -1, False)
    return places
