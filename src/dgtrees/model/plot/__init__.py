"""Pictures of trees, their training and what moved a prediction.

Every function but `plot_story`, which fills a figure, takes `ax=`, matplotlib axes to draw into,
and returns the Axes. They need matplotlib (the extra `dgtrees[plot]`), which is imported when the
first picture is drawn.
"""

from dgtrees.model.plot.bars import plot_contributions
from dgtrees.model.plot.curves import plot_curves, plot_history
from dgtrees.model.plot.examples import plot_node_examples
from dgtrees.model.plot.images import plot_node_images
from dgtrees.model.plot.story import plot_story
from dgtrees.model.plot.tree import plot_tree

__all__ = [
    "plot_contributions",
    "plot_curves",
    "plot_history",
    "plot_node_examples",
    "plot_node_images",
    "plot_story",
    "plot_tree",
]
