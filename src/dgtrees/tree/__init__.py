"""The tree itself: topology, compiled kernels, and the frozen arrays that predict."""

from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ObliqueForest", "ObliqueTree"]
