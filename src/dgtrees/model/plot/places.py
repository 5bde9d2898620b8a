"""Where the parts of a drawn tree go: a column a level of decisions, a line a leaf."""

from __future__ import annotations

from dataclasses import dataclass

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Place", "place_all"]


@dataclass(frozen=True)
class Place:
    """A node, a leaf, or a node at which the drawing is cut (then it stands where a leaf would).

    `child` is its pointer: a node's number or ``~leaf``. It owns the lines from `first` up to
    `stop`, and nothing else is ever drawn there in its column: boxes cannot overlap.
    """

    child: int
    depth: int
    first: int
    stop: int
    above: int
    cut: bool

    @property
    def is_box(self) -> bool:
        """Whether it is drawn as a decision."""
        return self.child >= 0 and not self.cut

    @property
    def middle(self) -> float:
        """Its height, in lines from the top."""
        return (self.first + self.stop) / 2


def place_all(tree: ObliqueTree, max_depth: int) -> list[Place]:
    """Places of all that is drawn, parents first; no above yes."""
    places: list[Place] = []

    def put(child: int, depth: int, first: int, above: int) -> int:
        cut = child >= 0 and depth >= max_depth
        index = len(places)
        places.append(Place(child, depth, first, first + 1, above, cut))
        if child < 0 or cut:
            return first + 1
        stop = put(int(tree.left[child]), depth + 1, first, index)
        stop = put(int(tree.right[child]), depth + 1, stop, index)
        places[index] = Place(child, depth, first, stop, above, cut)
        return stop

    put(0 if tree.n_nodes else ~0, 0, 0, -1)
    return places
